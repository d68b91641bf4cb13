#include "reference/layer_json.h"

#include <gtest/gtest.h>

#include <string>

#include "reference/error.h"

namespace assay {
namespace {

const Json& Goldens() {
  static const Json goldens = ReadJson(ASSAY_GOLDENS "/hf/cases.json");
  return goldens;
}

const Json& Case(const std::string& name) {
  for (const Json& layer : Goldens().at("cases"))
    if (layer.at("name") == name) return layer;
  throw UsageError("no golden " + name);
}

std::string TextOf(const std::vector<LayerFault>& faults) {
  std::string text;
  for (const LayerFault& fault : faults) text += (text.empty() ? "" : "\n") + fault.Text();
  return text;
}

TEST(LayerJson, AllGoldenCasesAreLayers) {
  EXPECT_EQ(Goldens().at("cases").size(), 23u);
  for (const Json& layer : Goldens().at("cases"))
    EXPECT_EQ(TextOf(LayerFaults(layer)), "") << layer.at("name");
}

// One change to a golden, as a JSON patch, and a fault that it must give.
struct Broken {
  const char* golden;
  const char* patch;
  const char* fault;
};

constexpr Broken kBroken[] = {
    {"mixtral-a", R"([{"op":"remove","path":"/router"}])",
     R"(/router: absent breaks the rule: router: an object with weight, bias,)"},
    {"mixtral-a", R"([{"op":"remove","path":"/router/scoring"}])",
     R"(/router/scoring: absent breaks the rule: scoring: one of softmax, sigmoid, sqrtsoftplus)"},
    {"mixtral-a", R"([{"op":"replace","path":"/router/scoring","value":"entmax"}])",
     R"(/router/scoring: "entmax" breaks the rule: scoring: one of softmax, sigmoid, sqrtsoftplus)"},
    {"mixtral-a", R"([{"op":"add","path":"/router/scorring","value":"softmax"}])",
     R"(/router/scorring: "softmax" breaks the rule: no such name is known here)"},
    {"mixtral-a", R"([{"op":"add","path":"/colour","value":1}])",
     R"(/colour: 1 breaks the rule: no such name is known here)"},
    {"mixtral-a", R"([{"op":"replace","path":"/hidden","value":0}])",
     R"(/hidden: 0 breaks the rule: inputs of the layer, 1 to 1048576)"},
    {"mixtral-a", R"([{"op":"replace","path":"/hidden","value":-64}])",
     R"(/hidden: -64 breaks the rule: inputs of the layer, 1 to 1048576)"},
    {"mixtral-a", R"([{"op":"replace","path":"/hidden","value":1e300}])",
     R"(/hidden: 1e+300 breaks the rule: inputs of the layer, 1 to 1048576)"},
    {"mixtral-a", R"([{"op":"replace","path":"/hidden","value":18446744073709551615}])",
     R"(/hidden: 18446744073709551615 breaks the rule: inputs of the layer, 1 to 1048576)"},
    {"mixtral-a", R"([{"op":"replace","path":"/hidden","value":64.5}])",
     R"(/hidden: 64.5 breaks the rule: inputs of the layer, 1 to 1048576)"},
    {"mixtral-a", R"([{"op":"replace","path":"/hidden","value":"64"}])",
     R"(/hidden: "64" breaks the rule: inputs of the layer, 1 to 1048576)"},
    {"mixtral-a", R"([{"op":"replace","path":"/num_experts","value":70000}])",
     R"(/num_experts: 70000 breaks the rule: routed experts, 1 to 65536)"},
    {"mixtral-a", R"([{"op":"replace","path":"/top_k","value":9}])",
     R"(/top_k: 9 breaks the rule: at most the 8 experts)"},
    {"longcat_flash-b", R"([{"op":"replace","path":"/top_k","value":17}])",
     R"(/top_k: 17 breaks the rule: at most the 16 experts)"},
    {"deepseek_v3-a", R"([{"op":"replace","path":"/router/n_group","value":3}])",
     R"(/router/n_group: 3 breaks the rule: divides the 8 experts)"},
    {"deepseek_v3-a", R"([{"op":"replace","path":"/router/topk_group","value":5}])",
     R"(/router/topk_group: 5 breaks the rule: at most the 4 groups)"},
    {"deepseek_v3-a", R"([{"op":"replace","path":"/router/group_score","value":null}])",
     R"(/router/group_score: null breaks the rule: score of a group: one of max, sum_top2, null)"},
    {"deepseek_v3-a", R"([{"op":"replace","path":"/router/excluded_group_fill","value":null}])",
     R"(/router/excluded_group_fill: null breaks the rule: fill of dropped groups: one of -inf, 0.0, null)"},
    {"deepseek_v3-a", R"([{"op":"replace","path":"/router/norm/eps","value":-1e-20}])",
     R"(/router/norm/eps: -1e-20 breaks the rule: epsilon: a number from 0 to 1)"},
    {"deepseek_v3-a", R"([{"op":"replace","path":"/router/norm/kind","value":"p_norm"}])",
     R"(/router/norm/p: absent breaks the rule: order of the norm: a number above 0 to 1024)"},
    {"deepseek_v3-a", R"([{"op":"replace","path":"/router/norm_topk_prob","value":1}])",
     R"(/router/norm_topk_prob: 1 breaks the rule: weights are divided by their norm: true or false)"},
    {"deepseek_v4-hash-b", R"([{"op":"replace","path":"/router/hash_table","value":null}])",
     R"(/router/hash_table: null breaks the rule: expert ids by token id: a tensor name or null)"},
    {"phimoe-b", R"([{"op":"replace","path":"/router/sparsemixer_jitter_eps","value":null}])",
     R"(/router/sparsemixer_jitter_eps: null breaks the rule: jitter of the sparsemixer: a number from 0 to 1e+06 or null)"},
    {"longcat_flash-b", R"([{"op":"replace","path":"/router/zero_expert_kind","value":null}])",
     R"(/router/zero_expert_kind: null breaks the rule: kind of the zero experts: one of identity, null)"},
    {"gpt_oss-a", R"([{"op":"replace","path":"/experts/activation","value":"swish_alpha=x"}])",
     R"(/experts/activation: "swish_alpha=x" breaks the rule: activation: silu, gelu_tanh, gelu_erf, relu_squared or swish_alpha=A)"},
    {"gpt_oss-a", R"([{"op":"replace","path":"/experts/clamp/where","value":"during"}])",
     R"(/experts/clamp/where: "during" breaks the rule: place of the clamp: one of before_activation, after_activation)"},
    {"gpt_oss-a", R"([{"op":"replace","path":"/experts/clamp/up_abs_max","value":0}])",
     R"(/experts/clamp/up_abs_max: 0 breaks the rule: limit of |up|: a number above 0 to 1e+06)"},
    {"gpt_oss-a", R"([{"op":"replace","path":"/experts/gate_up","value":null}])",
     R"(/experts/gate_up: null breaks the rule: gate and up in one: an object or null with tensor, layout)"},
    {"gpt_oss-a", R"([{"op":"replace","path":"/experts/down/layout","value":"[H,E,I]"}])",
     R"(/experts/down/layout: "[H,E,I]" breaks the rule: how it is stored: one of )"},
    {"gpt_oss-a", R"([{"op":"replace","path":"/experts/down/tensor","value":""}])",
     R"(/experts/down/tensor: "" breaks the rule: where it is: a tensor name)"},
    {"dbrx-a", R"([{"op":"remove","path":"/experts/up"}])",
     R"(/experts/up: absent breaks the rule: up: an object with tensor, layout)"},
    {"dbrx-a", R"([{"op":"replace","path":"/experts/gated","value":false}])",
     R"(/experts/gated: false breaks the rule: the fields beside it demand another value)"},
    {"qwen2_moe-b", R"([{"op":"replace","path":"/shared/gate_tensor","value":null}])",
     R"(/shared/gate_tensor: null breaks the rule: weight of the gate: a tensor name or null)"},
    {"qwen2_moe-b", R"([{"op":"replace","path":"/shared","value":[]}])",
     R"(/shared: an array of 0 breaks the rule: shared expert: an object or null with )"},
    {"axk1-b", R"([{"op":"replace","path":"/post_norm/kind","value":"layernorm"}])",
     R"(/post_norm/kind: "layernorm" breaks the rule: kind of norm: one of rmsnorm)"},
    {"mixtral-a", R"([{"op":"replace","path":"/file","value":"../../etc/passwd"}])",
     R"(/file: "../../etc/passwd" breaks the rule: file of the tensors, in the same folder: )"},
};

TEST(LayerJson, EachBrokenDescriptionGivesItsNamedFault) {
  for (const Broken& broken : kBroken) {
    const Json layer = Case(broken.golden).patch(Json::parse(broken.patch));
    EXPECT_NE(TextOf(LayerFaults(layer)).find(broken.fault), std::string::npos)
        << broken.golden << " " << broken.patch << "\n  gives: " << TextOf(LayerFaults(layer));
  }
}

TEST(LayerJson, AWordThatIsNotListedIsToldFromABrokenDocument) {
  Json layer = Case("mixtral-a");
  layer["router"]["scoring"] = "entmax";
  ASSERT_EQ(LayerFaults(layer).size(), 1u);
  EXPECT_TRUE(LayerFaults(layer)[0].unknown);
  layer["router"]["scoring"] = 7;
  ASSERT_FALSE(LayerFaults(layer).empty());
  EXPECT_FALSE(LayerFaults(layer)[0].unknown);
}

TEST(LayerJson, NoDocumentBesideAnObjectIsALayer) {
  for (const char* text : {"null", "[]", "7", "\"layer\"", "{}", "true"})
    EXPECT_THROW(RequireLayer(Json::parse(text), "x"), UsageError) << text;
}

TEST(LayerJson, AHostileNameStaysOnOneLineAndDoesNotConfuse) {
  for (const char* name : {"a\nb", "x: 'y", "'", "[0]", "a/b~c", ""}) {
    Json layer = Case("mixtral-a");
    layer["router"][name] = 1;
    ASSERT_FALSE(LayerFaults(layer).empty()) << name;
    EXPECT_EQ(TextOf(LayerFaults(layer)).find('\n'), std::string::npos) << name;
  }
}

std::string ParseError(const std::string& text) {
  try {
    ParseJson(text, "x.json");
    return "fine";
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::string Repeat(const char* text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(JsonDocument, HostileTextIsAUsageErrorWithAName) {
  EXPECT_EQ(ParseError("{\"a\":[1,2]}"), "fine");
  EXPECT_EQ(ParseError(Repeat("[", 100000)), "x.json: nested deeper than 32 objects and arrays");
  EXPECT_EQ(ParseError(Repeat("{\"a\":", 100000)),
            "x.json: nested deeper than 32 objects and arrays");
  EXPECT_EQ(ParseError("{\"a\":1,\"b\":{\"a\":2},\"a\":3}"),
            "x.json: the name \"a\" occurs twice in one object");
  EXPECT_NE(ParseError("{\"a\":1e999}").find("number overflow"), std::string::npos);
  EXPECT_NE(ParseError("{\"a\":NaN}").find("parse error"), std::string::npos);
  EXPECT_NE(ParseError("").find("unexpected end of input"), std::string::npos);
  EXPECT_NE(ParseError("{} {}").find("parse error"), std::string::npos);
  EXPECT_NE(ParseError("\"\xff\"").find("UTF-8"), std::string::npos);
  EXPECT_NE(ParseError("\"" + std::string(5000, 'a') + "\"").find("a string of 5000 bytes"),
            std::string::npos);
}

TEST(JsonDocument, NestingUpToTheLimitIsRead) {
  EXPECT_EQ(ParseError(Repeat("[", 32) + Repeat("]", 32)), "fine");
  EXPECT_NE(ParseError(Repeat("[", 33) + Repeat("]", 33)), "fine");
}

TEST(JsonDocument, ADigitStringAsLongAsYouLikeIsANumberOrAnError) {
  EXPECT_EQ(ParseError("[" + std::string(300, '9') + "]"), "fine");
  EXPECT_NE(ParseError("[" + std::string(400, '9') + "]"), "fine");
}

TEST(JsonDocument, AnAbsentFileIsAUsageError) {
  EXPECT_THROW(ReadJson("/nowhere/x.json"), UsageError);
  EXPECT_THROW(ReadJson("/"), UsageError);
}

}  // namespace
}  // namespace assay
