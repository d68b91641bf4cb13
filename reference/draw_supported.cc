// What the builder refuses, by name.
#include <string>

#include "reference/draw_tensors.h"
#include "reference/error.h"
#include "reference/formats.h"
#include "reference/tokens.h"

namespace assay {
namespace {

[[noreturn]] void Refuse(const std::string& field, std::string_view value, const char* why) {
  throw UnsupportedProblem(field + "=" + std::string(value) + ": " + why);
}

constexpr const char* kNotBuilt = "not built yet";

void RequireSteering(const Problem& p) {
  if (IsTied(p.logits))
    Refuse("routing", Token(p.routing), "steered experts cannot tie; use uniform");
  if (p.data == DataDraw::kZero)
    Refuse("routing", Token(p.routing), "a zero input cannot be steered; use uniform");
  if (SteeringChannels(p) > p.hidden)
    Refuse("routing", Token(p.routing), "needs one hidden channel for each row");
  if (p.routing == RoutingDraw::kDisjoint && p.experts < p.rows * p.top_k)
    Refuse("routing", "disjoint", "needs rows * top_k experts");
  if (p.routing == RoutingDraw::kLast && p.experts < p.top_k)
    Refuse("routing", "last", "needs top_k experts besides the identity experts");
}

void RequireDistributions(const Problem& p) {
  const bool non_finite = p.logits == LogitDraw::kNan || p.logits == LogitDraw::kInf;
  if (non_finite && p.gate_format != Format::kBf16)
    Refuse("logits", Token(p.logits), "a packed gate has no weight that is not finite");
  if (p.routing == RoutingDraw::kStray && p.router != RouterKind::kHash)
    Refuse("routing", Token(p.routing), "stray ids are those of a table; use router=hash");
  if (IsSteered(p.routing)) RequireSteering(p);
}

void RequireRouter(const Problem& p) {
  if (p.groups != 1 && p.router != RouterKind::kGroupedSigmoidBias)
    Refuse("groups", std::to_string(p.groups), "only router=grouped_sigmoid_bias keeps groups");
  if (p.zero_experts != 0 && p.router != RouterKind::kSoftmaxBias)
    Refuse("zero_experts", std::to_string(p.zero_experts),
           "identity experts need router=softmax_bias");
  if (p.router == RouterKind::kSigmoidTop1 && p.top_k != 1)
    Refuse("top_k", std::to_string(p.top_k), "router=sigmoid_top1 chooses one expert");
  if (p.gate_format != Format::kBf16 && p.gate_format != Format::kNvfp4)
    Refuse("gate_format", Token(p.gate_format), kNotBuilt);
  if (const auto rule = CannotCarry(p.gate_format, p.hidden))
    throw UnsupportedProblem("gate_format: " + *rule);
}

}  // namespace

void RequireSupported(const Problem& p) {
  RequireRouter(p);
  RequireDistributions(p);
  if (p.activation == Activation::kRelu2 && p.limit != 0)
    Refuse("limit", std::to_string(p.limit), "relu2 has no clamp");
  if (p.pre_expert_norm && p.router == RouterKind::kSigmoidTop1)
    Refuse("pre_expert_norm", "on", "router=sigmoid_top1 weighs the layer's input");
  if (p.lora != Lora::kOff && p.fp32_gate)
    Refuse("lora", Token(p.lora), "folds into BF16 logits; use fp32_gate=off");
  if (p.lora != Lora::kOff && p.ep != 1)
    Refuse("lora", Token(p.lora), "folds where all experts are; use ep=1");
  if (p.ep != 1 && p.zero_experts != 0)
    Refuse("ep", std::to_string(p.ep), "identity experts belong to no rank; use ep=1");
}

}  // namespace assay
