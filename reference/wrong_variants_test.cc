// Wrong variants of layer descriptions, each with the golden case that tells it apart; and the
// changes that are mathematically no change. A variant that no case tells apart is a hole in the
// goldens.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "reference/golden_layer.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(ASSAY_GOLDENS) / "hf";

// One field and the value that takes its place, as JSON.
struct Change {
  const char* pointer;
  const char* value;
};
struct Variant {
  const char* what;
  const char* golden;
  std::vector<Change> changes;
};

const char* const kPlainSum = R"({"kind": "sum", "eps": 0.0, "eps_mode": "add"})";

const std::vector<Variant>& Wrong() {
  static const std::vector<Variant> wrong{
      // router: logits
      {"router bias dropped", "gpt_oss-a", {{"/router/bias", "null"}}},
      {"soft cap dropped", "laguna-b", {{"/router/logit_softcap", "null"}}},
      {"another soft cap", "laguna-b", {{"/router/logit_softcap", "2.5"}}},
      {"pre-norm dropped", "gemma4-a", {{"/router/pre_norm", "null"}}},
      {"pre-norm with another epsilon", "gemma4-a", {{"/router/pre_norm/eps", "0.001"}}},
      {"pre-norm without its vector", "gemma4-a", {{"/router/pre_norm/scale_vector", "null"}}},
      {"pre-norm without its factor", "gemma4-a", {{"/router/pre_norm/scale_scalar", "1.0"}}},
      // router: scores
      {"softmax for sigmoid", "minimax_m2-a", {{"/router/scoring", R"("softmax")"}}},
      {"sigmoid for softmax", "longcat_flash-b", {{"/router/scoring", R"("sigmoid")"}}},
      {"sigmoid for sqrtsoftplus", "deepseek_v4-topk-a", {{"/router/scoring", R"("sigmoid")"}}},
      {"softmax for sqrtsoftplus", "deepseek_v4-hash-b", {{"/router/scoring", R"("softmax")"}}},
      {"softmax of the chosen for their sigmoid",
       "llama4-b",
       {{"/router/scoring", R"("softmax")"}}},
      {"softmax over all, not over the chosen",
       "gpt_oss-a",
       {{"/router/score_scope", R"("all_experts")"}}},
      {"softmax over all, with a shared expert",
       "granitemoeshared-a",
       {{"/router/score_scope", R"("all_experts")"}}},
      {"softmax over the chosen, not over all",
       "jamba-a",
       {{"/router/score_scope", R"("selected_only")"}}},
      // router: selection
      {"correction bias dropped, groups", "deepseek_v3-a", {{"/router/correction_bias", "null"}}},
      {"correction bias dropped, sigmoid", "minimax_m2-a", {{"/router/correction_bias", "null"}}},
      {"correction bias dropped, softmax", "ernie4_5_moe-a", {{"/router/correction_bias", "null"}}},
      {"correction bias dropped, zero experts",
       "longcat_flash-b",
       {{"/router/correction_bias", "null"}}},
      {"groups ignored", "deepseek_v3-a", {{"/router/selection", R"("topk")"}}},
      {"groups ignored, softmax", "deepseek_v2-b", {{"/router/selection", R"("topk")"}}},
      {"group score max for sum of two", "deepseek_v3-a", {{"/router/group_score", R"("max")"}}},
      {"group score sum of two for max",
       "deepseek_v2-b",
       {{"/router/group_score", R"("sum_top2")"}}},
      {"one group more kept", "glm4_moe-b", {{"/router/topk_group", "3"}}},
      {"one group less kept", "nemotron_h-b", {{"/router/topk_group", "1"}}},
      {"other groups", "axk1-b", {{"/router/n_group", "2"}, {"/router/topk_group", "1"}}},
      {"top-k for the hash table", "deepseek_v4-hash-b", {{"/router/selection", R"("topk")"}}},
      {"top-k for the sparsemixer",
       "phimoe-b",
       {{"/router/selection", R"("topk")"}, {"/router/score_scope", R"("all_experts")"}}},
      {"another jitter", "phimoe-b", {{"/router/sparsemixer_jitter_eps", "0.4"}}},
      {"one expert more", "qwen3_moe-a", {{"/top_k", "3"}}},
      {"one expert less", "qwen2_moe-b", {{"/top_k", "3"}}},
      {"two real experts taken for zero experts",
       "longcat_flash-b",
       {{"/num_experts", "8"}, {"/router/zero_expert_num", "8"}}},
      // router: weights
      {"weights not normalised", "mixtral-a", {{"/router/norm_topk_prob", "false"}}},
      {"weights not normalised, hash", "deepseek_v4-hash-b", {{"/router/norm_topk_prob", "false"}}},
      {"weights not normalised, sigmoid", "deepseek_v3-a", {{"/router/norm_topk_prob", "false"}}},
      {"weights normalised",
       "jamba-a",
       {{"/router/norm_topk_prob", "true"}, {"/router/norm", kPlainSum}}},
      {"weights normalised, groups",
       "glm4_moe-b",
       {{"/router/norm_topk_prob", "true"}, {"/router/norm", kPlainSum}}},
      {"another epsilon", "lfm2_moe-a", {{"/router/norm/eps", "1e-20"}}},
      {"epsilon as a lower limit, not added",
       "lfm2_moe-a",
       {{"/router/norm/eps_mode", R"("clamp_min")"}}},
      {"norm of power 2 for 1", "dbrx-a", {{"/router/norm/p", "2.0"}}},
      {"norm of power 1 for 2", "dbrx-c", {{"/router/norm/p", "1.0"}}},
      {"factor left out", "deepseek_v2-b", {{"/router/routed_scaling_factor", "1.0"}}},
      {"factor left out of the output",
       "laguna-b",
       {{"/router/routed_scaling_applied_to", R"("none")"}}},
      {"factor twice", "deepseek_v3-a", {{"/router/routed_scaling_factor", "6.25"}}},
      {"per-expert scale dropped", "gemma4-a", {{"/router/per_expert_scale", "null"}}},
      {"weight on the output, not the input",
       "llama4-b",
       {{"/router/weights_applied_to", R"("expert_output")"}}},
      {"weight on the input, not the output",
       "mixtral-a",
       {{"/router/weights_applied_to", R"("expert_input")"}}},
      // experts
      {"gate and up swapped",
       "dbrx-a",
       {{"/experts/gate/tensor", R"("experts.mlp.v1")"},
        {"/experts/up/tensor", R"("experts.mlp.w1")"}}},
      {"gate and up swapped in one matrix", "mixtral-a", {{"/experts/order", R"("up_then_gate")"}}},
      {"halves read for interleaved rows",
       "gpt_oss-a",
       {{"/experts/packing", R"("concatenated")"}}},
      {"interleaved rows read for halves",
       "qwen3_moe-a",
       {{"/experts/packing", R"("interleaved")"}}},
      {"down read transposed", "qwen3_moe-a", {{"/experts/down/layout", R"("[E,I,H]^T")"}}},
      {"bias of gate and up dropped", "gpt_oss-a", {{"/experts/gate_up_bias", "null"}}},
      {"bias of down dropped", "gpt_oss-a", {{"/experts/down_bias", "null"}}},
      {"one not added to up", "gpt_oss-a", {{"/experts/up_offset", "0.0"}}},
      {"one added to up", "mixtral-a", {{"/experts/up_offset", "1.0"}}},
      {"silu for swish 1.702", "gpt_oss-a", {{"/experts/activation", R"("silu")"}}},
      {"exact gelu for its tanh form", "gemma4-a", {{"/experts/activation", R"("gelu_erf")"}}},
      {"silu for gelu", "gemma4-a", {{"/experts/activation", R"("silu")"}}},
      {"gelu for silu", "jamba-a", {{"/experts/activation", R"("gelu_tanh")"}}},
      {"silu for squared relu", "nemotron_h-b", {{"/experts/activation", R"("silu")"}}},
      {"clamp dropped", "deepseek_v4-topk-a", {{"/experts/clamp", "null"}}},
      {"clamp dropped, gpt-oss", "gpt_oss-a", {{"/experts/clamp", "null"}}},
      {"clamp after the activation, not before",
       "deepseek_v4-topk-a",
       {{"/experts/clamp/where", R"("after_activation")"}}},
      {"another limit of the gate", "deepseek_v4-hash-b", {{"/experts/clamp/gate_max", "2.0"}}},
      {"up not limited", "deepseek_v4-topk-a", {{"/experts/clamp/up_abs_max", "null"}}},
      {"gate limited from below too", "deepseek_v4-topk-a", {{"/experts/clamp/gate_min", "-1.5"}}},
      {"norm of the experts' input dropped", "gemma4-a", {{"/experts/input_norm", "null"}}},
      // shared expert and what follows
      {"shared expert dropped", "qwen2_moe-b", {{"/shared", "null"}}},
      {"gate of the shared expert dropped", "qwen2_moe-b", {{"/shared/gate", R"("none")"}}},
      {"gate and up of the shared expert swapped",
       "qwen2_moe-b",
       {{"/shared/tensors/gate", R"("shared_expert.up_proj.weight")"},
        {"/shared/tensors/up", R"("shared_expert.gate_proj.weight")"}}},
      {"clamp of the shared expert dropped", "deepseek_v4-topk-a", {{"/shared/clamp", "null"}}},
      {"squared relu of the shared expert for silu",
       "nemotron_h-b",
       {{"/shared/activation", R"("silu")"}}},
      {"post-norm dropped", "axk1-b", {{"/post_norm", "null"}}},
      {"post-norm with another epsilon", "axk1-b", {{"/post_norm/eps", "0.001"}}},
  };
  return wrong;
}

// Changes that are none: the reason stands in the name.
const std::vector<Variant>& Equal() {
  static const std::vector<Variant> equal{
      {"softmax over the chosen is the normalised softmax over all",
       "gpt_oss-a",
       {{"/router/score_scope", R"("all_experts")"},
        {"/router/norm_topk_prob", "true"},
        {"/router/norm", kPlainSum}}},
      {"and the other way round",
       "mixtral-a",
       {{"/router/score_scope", R"("selected_only")"}, {"/router/norm_topk_prob", "false"}}},
      {"a factor on the weights is a factor on their sum",
       "deepseek_v2-b",
       {{"/router/routed_scaling_applied_to", R"("routed_output")"}}},
      {"and the other way round, no norm follows",
       "laguna-b",
       {{"/router/routed_scaling_applied_to", R"("routing_weights")"}}},
      {"the norm of power 1 is the sum of positive weights",
       "dbrx-a",
       {{"/router/norm", kPlainSum}}},
      {"dropped groups at -inf or 0: kept scores are positive and enough",
       "deepseek_v2-b",
       {{"/router/excluded_group_fill", R"("-inf")"}}},
      {"an epsilon of 1e-20 vanishes beside a sum near one",
       "deepseek_v3-a",
       {{"/router/norm/eps", "0.0"}}},
      {"a lower limit below every sum", "ernie4_5_moe-a", {{"/router/norm/eps", "0.0"}}},
      {"a factor that is applied nowhere", "mixtral-a", {{"/router/routed_scaling_factor", "2.0"}}},
      {"silu is swish with alpha 1", "jamba-a", {{"/experts/activation", R"("swish_alpha=1.0")"}}},
      {"ranking scores or logits: the sigmoid is monotone",
       "llama4-b",
       {{"/router/score_scope", R"("all_experts")"}}},
      {"a clamp wider than every value",
       "mixtral-a",
       {{"/experts/clamp",
         R"({"where": "before_activation", "gate_max": 1e6, "gate_min": null, "up_abs_max": 1e6})"}}},
      {"all groups kept is no grouping",
       "minimax_m2-a",
       {{"/router/selection", R"("group_limited_topk")"},
        {"/router/n_group", "4"},
        {"/router/topk_group", "4"},
        {"/router/group_score", R"("max")"},
        {"/router/excluded_group_fill", R"("-inf")"}}},
  };
  return equal;
}

const Json& Cases() {
  static const Json cases = [] {
    std::ifstream stream(kFolder / "cases.json");
    return Json::parse(stream).at("cases");
  }();
  return cases;
}

Json CaseNamed(const std::string& name) {
  for (const Json& golden : Cases())
    if (golden.at("name") == name) return golden;
  throw std::runtime_error(name + ": no such golden case");
}

Json Changed(Json layer, const std::vector<Change>& changes) {
  for (const Change& change : changes)
    layer[Json::json_pointer(change.pointer)] = Json::parse(change.value);
  return layer;
}

// The largest distance from the golden output, relative to its largest value.
double Distance(const Json& layer) {
  const Safetensors file = Safetensors::Open(kFolder / layer.at("file").get<std::string>());
  const RowMatrix got = EvaluateLayer(layer, file).output;
  const RowMatrix expected = LoadMatrix(file, "f64.output");
  return (got - expected).cwiseAbs().maxCoeff() / expected.cwiseAbs().maxCoeff();
}

// GoogleTest prints parameters.
void PrintTo(const Variant& v, std::ostream* to) { *to << v.what << " (" << v.golden << ")"; }

class Variants : public testing::TestWithParam<Variant> {};
class Equivalents : public testing::TestWithParam<Variant> {};

// 1e-9 lies a thousand times above what double arithmetic leaves (below 1e-12, next test).
TEST_P(Variants, AreToldApartByTheirGolden) {
  const Json layer = CaseNamed(GetParam().golden), changed = Changed(layer, GetParam().changes);
  EXPECT_NE(changed, layer) << "the change changes nothing in the description";
  EXPECT_GT(Distance(changed), 1e-9) << GetParam().what << " passes " << GetParam().golden;
}

TEST_P(Equivalents, GiveTheSameOutput) {
  const Json layer = CaseNamed(GetParam().golden), changed = Changed(layer, GetParam().changes);
  EXPECT_NE(changed, layer);
  EXPECT_LT(Distance(changed), 1e-12) << GetParam().what;
}

TEST(WrongVariants, AreAtLeastFortyAndEveryGoldenUnchangedPasses) {
  EXPECT_GE(Wrong().size(), 40u);
  for (const Json& golden : Cases()) EXPECT_LT(Distance(golden), 1e-12) << golden.at("name");
}

std::string TestName(const testing::TestParamInfo<Variant>& info) {
  std::string name = std::string(info.param.what) + "_" + info.param.golden;
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(Wrong, Variants, testing::ValuesIn(Wrong()), TestName);
INSTANTIATE_TEST_SUITE_P(Equal, Equivalents, testing::ValuesIn(Equal()), TestName);

}  // namespace
}  // namespace assay
