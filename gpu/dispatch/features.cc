#include "gpu/dispatch/features.h"

#include <algorithm>

namespace assay {
namespace {

using P = Problem;

// Groups must divide the experts, and the kept ones must hold a whole choice.
void SetGroups(P& p) {
  p.groups = 2;
  p.groups_kept = 1;
  p.experts = std::max(p.experts, 2 * p.top_k) / 2 * 2;
}

// Two experts a rank at least, so that no rank is empty.
void SetRanks(P& p) {
  p.ep = 2;
  p.experts = std::max(p.experts, 4);
}
void SetUnevenRanks(P& p) {
  p.ep = 3;
  p.ep_map = EpMap::kUneven;
  p.experts = std::max(p.experts, 6);
}

template <Lora kLora>
constexpr Feature LoraFeature(const char* name) {
  return {name, [](P& p) { p.lora = kLora; }, [](const P& p) { return p.lora == kLora; }};
}

template <Activation kActivation>
constexpr Feature ActivationFeature(const char* name) {
  return {name, [](P& p) { p.activation = kActivation; },
          [](const P& p) { return p.activation == kActivation; }};
}

template <bool Problem::*kFlag>
constexpr Feature FlagFeature(const char* name) {
  return {name, [](P& p) { p.*kFlag = true; }, [](const P& p) { return p.*kFlag; }};
}

}  // namespace

const std::vector<Feature>& Features() {
  static const std::vector<Feature> features = {
      FlagFeature<&Problem::fp32_gate>("fp32_gate=on"),
      FlagFeature<&Problem::pre_norm>("pre_norm=on"),
      FlagFeature<&Problem::pre_expert_norm>("pre_expert_norm=on"),
      FlagFeature<&Problem::router_bias>("router_bias=on"),
      {"gate_format=nvfp4", [](P& p) { p.gate_format = Format::kNvfp4; },
       [](const P& p) { return p.gate_format == Format::kNvfp4; }},
      {"zero_experts=4", [](P& p) { p.zero_experts = 4; },
       [](const P& p) { return p.zero_experts > 0; }},
      {"groups=2", SetGroups, [](const P& p) { return p.groups > 1; }},
      LoraFeature<Lora::kFold>("lora=fold"),
      LoraFeature<Lora::kSkip>("lora=skip"),
      LoraFeature<Lora::kRefuse>("lora=refuse"),
      {"ep=2", SetRanks, [](const P& p) { return p.ep == 2; }},
      {"ep_map=uneven", SetUnevenRanks, [](const P& p) { return p.ep_map == EpMap::kUneven; }},
      FlagFeature<&Problem::graph>("graph=on"),
      ActivationFeature<Activation::kGeluTanh>("activation=gelu_tanh"),
      ActivationFeature<Activation::kSwigluOai>("activation=swiglu_oai"),
      ActivationFeature<Activation::kRelu2>("activation=relu2"),
      {"limit=7", [](P& p) { p.limit = 7; }, [](const P& p) { return p.limit > 0; }},
  };
  return features;
}

}  // namespace assay
