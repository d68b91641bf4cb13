#include "reference/expert_rule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "reference/bf16.h"
#include "reference/fp32_error.h"

namespace assay {
namespace {

using Vector = Eigen::VectorXd;

double GeluTanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

void AddBias(Vector& to, const Vector& bias) {
  if (bias.size() > 0) to += bias;
}

Vector Bf16Of(const Vector& values) { return values.unaryExpr(&RoundToBf16); }

}  // namespace

ExpertRule GptOssRule() {
  ExpertRule rule;
  rule.activation = ActivationKind::kSwishAlpha;
  rule.alpha = 1.702;
  rule.up_offset = 1;
  rule.clamp = ClampAt::kBeforeActivation;
  rule.gate_max = rule.up_abs_max = 7;
  return rule;
}

ExpertRule ExpertRuleFor(const Problem& p) {
  ExpertRule rule;
  if (p.activation == Activation::kSwigluOai) rule = GptOssRule();
  if (p.activation == Activation::kGeluTanh) rule.activation = ActivationKind::kGeluTanh;
  if (p.activation == Activation::kRelu2) rule.activation = ActivationKind::kReluSquared;
  rule.gated = IsGated(p);
  rule.clamp = p.limit > 0 ? ClampAt::kBeforeActivation : ClampAt::kNowhere;
  rule.gate_max = rule.up_abs_max = p.limit > 0 ? p.limit : std::numeric_limits<double>::infinity();
  return rule;
}

double Activated(const ExpertRule& rule, double z) {
  switch (rule.activation) {
    case ActivationKind::kSilu:
      return Silu(z);
    case ActivationKind::kSwishAlpha:
      return z / (1 + std::exp(-rule.alpha * z));
    case ActivationKind::kGeluTanh:
      return GeluTanh(z);
    case ActivationKind::kGeluErf:
      return 0.5 * z * std::erfc(-z / std::numbers::sqrt2);
    case ActivationKind::kReluSquared:
      return z > 0 ? z * z : 0;
  }
  return 0;
}

double HiddenValue(const ExpertRule& rule, double gate, double up) {
  if (!rule.gated) return Activated(rule, up);
  if (rule.clamp == ClampAt::kBeforeActivation)
    gate = std::max(std::min(gate, rule.gate_max), rule.gate_min);
  if (rule.clamp != ClampAt::kNowhere) up = std::clamp(up, -rule.up_abs_max, rule.up_abs_max);
  double activated = Activated(rule, gate);
  if (rule.clamp == ClampAt::kAfterActivation)
    activated = std::max(std::min(activated, rule.gate_max), rule.gate_min);
  return activated * (up + rule.up_offset);
}

Vector EvaluateExpert(const ExpertRule& rule, const ExpertNetwork& network, const Vector& x) {
  Vector up = network.up * x;
  AddBias(up, network.up_bias);
  Vector gate = Vector::Zero(up.size());
  if (rule.gated) gate = network.gate * x;
  AddBias(gate, network.gate_bias);
  Vector hidden(up.size());
  for (Eigen::Index i = 0; i < up.size(); ++i) hidden[i] = HiddenValue(rule, gate[i], up[i]);
  Vector out = network.down * hidden;
  AddBias(out, network.down_bias);
  return out;
}

Vector EvaluateShared(std::span<const SharedExpert> shared, const Vector& x) {
  Vector sum;
  for (const SharedExpert& expert : shared) {
    const double factor = expert.gate.size() > 0 ? Sigmoid(expert.gate.dot(x)) : 1;
    const Vector y = factor * EvaluateExpert(expert.rule, expert.network, x);
    sum = sum.size() > 0 ? Vector(sum + y) : y;
  }
  return sum;
}

Vector FoldLora(const Vector& base, const LoraAdapter* adapter, const Vector& x) {
  if (adapter == nullptr) return base;
  const Vector low = Bf16Of(adapter->a * x);
  const Vector delta = Bf16Of(adapter->b * low);
  return Bf16Of(base + adapter->scale * delta);
}

Vector FoldLoraExact(const Vector& base, const LoraAdapter& adapter, const Vector& x) {
  return base + adapter.scale * (adapter.b * (adapter.a * x));
}

}  // namespace assay
