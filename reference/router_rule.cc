#include "reference/router_rule.h"

#include <algorithm>
#include <cmath>

#include "reference/bf16.h"
#include "reference/fp32_number.h"
#include "reference/group_selection.h"
#include "reference/routing.h"

namespace assay {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

template <class Number>
using Numbers = std::vector<Number>;

template <class Number>
Number SigmoidOf(const Number& x) {
  // Both forms are the same number; this one never overflows.
  if (ValueOf(x) >= 0) return Number(1) / (Number(1) + Exp(-x));
  const Number e = Exp(x);
  return e / (Number(1) + e);
}

// sqrt(log(1 + exp(x))): max(x, 0) + log1p(exp(-|x|)) neither overflows nor loses small results.
template <class Number>
Number SqrtsoftplusOf(const Number& x) {
  const bool positive = ValueOf(x) >= 0;
  const Number rest = Log1p(Exp(positive ? -x : x));
  return Sqrt(positive ? x + rest : rest);
}

// Of the finite logits; the others get 0.
template <class Number>
Numbers<Number> SoftmaxOf(std::span<const Number> logits) {
  double max = kNever;
  for (const Number& l : logits)
    if (std::isfinite(ValueOf(l))) max = std::max(max, ValueOf(l));
  Numbers<Number> scores;
  for (const Number& l : logits)
    scores.push_back(std::isfinite(ValueOf(l)) ? Exp(l - Number(max)) : Number(0));
  const Number sum = Sum(std::span<const Number>(scores));
  for (Number& s : scores) s = s / sum;
  return scores;
}

template <class Number>
Numbers<Number> ScoresOf(Scoring scoring, std::span<const Number> logits) {
  if (scoring == Scoring::kSoftmax) return SoftmaxOf(logits);
  Numbers<Number> scores;
  for (const Number& l : logits)
    scores.push_back(!std::isfinite(ValueOf(l))     ? Number(0)
                     : scoring == Scoring::kSigmoid ? SigmoidOf(l)
                                                    : SqrtsoftplusOf(l));
  return scores;
}

template <class Number>
Numbers<Number> As(std::span<const double> values) {
  return {values.begin(), values.end()};
}

// What is ranked and later weighed: scores, or the logits where only the chosen are scored.
template <class Number>
Numbers<Number> ValuesOf(const RouterRule& rule, std::span<const double> logits) {
  const Numbers<Number> numbers = As<Number>(logits);
  if (rule.scope == ScoreScope::kSelectedOnly) return numbers;
  return ScoresOf<Number>(rule.scoring, numbers);
}

std::vector<double> Ranked(const RouterRule& rule, const RouterTensors& tensors,
                           std::span<const double> logits, std::span<const double> values) {
  std::vector<double> ranked(values.begin(), values.end());
  for (std::size_t e = 0; e < ranked.size(); ++e) {
    if (!tensors.correction_bias.empty()) ranked[e] += tensors.correction_bias[e];
    if (!std::isfinite(logits[e])) ranked[e] = kNever;
  }
  return rule.selection == SelectionKind::kGrouped ? MaskDroppedGroups(rule, ranked) : ranked;
}

std::string Refusal(const std::string& value, const std::string& rule) {
  return value + ": " + rule;
}

std::optional<std::string> BadHash(const RouterRule& rule, const RouterTensors& tensors,
                                   std::span<const double> logits) {
  if (tensors.hash_ids.size() != std::size_t(rule.top_k))
    return Refusal("hash row of " + std::to_string(tensors.hash_ids.size()) + " ids",
                   "top_k=" + std::to_string(rule.top_k) + " are needed; give the token ids");
  for (const std::int64_t id : tensors.hash_ids) {
    if (id < 0 || id >= rule.Outputs())
      return Refusal("hash table id " + std::to_string(id),
                     "there are " + std::to_string(rule.Outputs()) + " experts");
    if (!std::isfinite(logits[id]))
      return Refusal("expert " + std::to_string(id) + " of the hash table",
                     "its logit is not finite, so it is never chosen");
  }
  return std::nullopt;
}

std::vector<int> Chosen(const RouterRule& rule, const RouterTensors& tensors,
                        std::span<const double> logits) {
  if (rule.selection == SelectionKind::kHash)
    return {tensors.hash_ids.begin(), tensors.hash_ids.end()};
  std::vector<double> values(logits.begin(), logits.end());
  if (rule.selection != SelectionKind::kSparsemixer) values = ValuesOf<double>(rule, logits);
  return TopK(Ranked(rule, tensors, logits, values), rule.top_k);
}

// The winner's softmax among the experts that lie near enough, those chosen before left out.
template <class Number>
Number SparsemixerWeight(const RouterRule& rule, std::span<const double> logits,
                         std::span<const int> before, int winner) {
  const double max = logits[winner];
  Numbers<Number> near;
  for (int e = 0; e < static_cast<int>(logits.size()); ++e) {
    if (!std::isfinite(logits[e]) || std::count(before.begin(), before.end(), e) > 0) continue;
    const double scale = std::max(std::fabs(logits[e]), max);
    // 0 / 0, of two zeros, counts as near.
    if (!((max - logits[e]) / scale > 2 * rule.jitter))
      near.push_back(Exp(Number(logits[e]) - Number(max)));
  }
  return Number(1) / Sum(std::span<const Number>(near));
}

template <class Number>
Numbers<Number> RawWeights(const RouterRule& rule, std::span<const double> logits,
                           std::span<const int> ids) {
  Numbers<Number> weights;
  if (rule.selection == SelectionKind::kSparsemixer) {
    for (std::size_t i = 0; i < ids.size(); ++i)
      weights.push_back(SparsemixerWeight<Number>(rule, logits, ids.first(i), ids[i]));
    return weights;
  }
  const Numbers<Number> values = ValuesOf<Number>(rule, logits);
  for (const int id : ids) weights.push_back(values[id]);
  return rule.scope == ScoreScope::kSelectedOnly ? ScoresOf<Number>(rule.scoring, weights)
                                                 : weights;
}

template <class Number>
Number Divisor(const RouterRule& rule, std::span<const Number> weights) {
  if (rule.norm == WeightNorm::kPNorm) {
    Numbers<Number> powers;
    for (const Number& w : weights) powers.push_back(Pow(ValueOf(w) < 0 ? -w : w, rule.p));
    return Pow(Sum(std::span<const Number>(powers)), 1 / rule.p);
  }
  const Number sum = Sum(weights);
  if (rule.norm == WeightNorm::kSumPlusEps) return rule.eps == 0 ? sum : sum + Number(rule.eps);
  const bool above = ValueOf(sum) > rule.eps;
  if (rule.norm == WeightNorm::kSumAtLeastEps) return above ? sum : Number(rule.eps);
  return above ? sum : Number(1);
}

// In this order: normalised, scaled, times the expert's own factor.
template <class Number>
Numbers<Number> Weights(const RouterRule& rule, const RouterTensors& tensors,
                        std::span<const double> logits, std::span<const int> ids) {
  Numbers<Number> weights = RawWeights<Number>(rule, logits, ids);
  if (rule.norm != WeightNorm::kNone) {
    const Number divisor = Divisor<Number>(rule, weights);
    for (Number& w : weights) w = w / divisor;
  }
  const bool scaled = rule.scaled_at == ScaledAt::kWeights && rule.scale != 1;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (scaled) weights[i] = weights[i] * Number(rule.scale);
    if (!tensors.per_expert_scale.empty())
      weights[i] = weights[i] * Number(tensors.per_expert_scale[ids[i]]);
  }
  return weights;
}

}  // namespace

double StoredLogit(const RouterRule& rule, double dot, double bias) {
  double logit = dot + bias;
  if (rule.soft_cap) logit = std::tanh(logit / *rule.soft_cap) * *rule.soft_cap;
  if (rule.store == LogitStore::kBf16) return RoundToBf16(logit);
  return rule.store == LogitStore::kFp32 ? double(static_cast<float>(logit)) : logit;
}

std::vector<double> Normed(const PreNorm& norm, std::span<const double> x) {
  double square = 0;
  for (const double v : x) square += v * v;
  const double root = std::sqrt(square / static_cast<double>(x.size()) + norm.eps);
  std::vector<double> y(x.begin(), x.end());
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] /= root;
    if (!norm.weight.empty()) y[i] *= norm.weight[i];
    if (!norm.scale_vector.empty()) y[i] *= norm.scale_vector[i];
    y[i] *= norm.scale;
  }
  return y;
}

RoutedRow RouteRow(const RouterRule& rule, const RouterTensors& tensors,
                   std::span<const double> logits) {
  RoutedRow row;
  if (rule.selection == SelectionKind::kHash) row.refusal = BadHash(rule, tensors, logits);
  if (row.refusal) return row;
  std::vector<int> ids = Chosen(rule, tensors, logits);
  if (ids.size() < std::size_t(rule.top_k)) {
    row.refusal = Refusal(std::to_string(ids.size()) + " experts with a finite logit",
                          "top_k=" + std::to_string(rule.top_k) + " are to be chosen");
    return row;
  }
  return WeighChosen(rule, tensors, logits, std::move(ids));
}

RoutedRow WeighChosen(const RouterRule& rule, const RouterTensors& tensors,
                      std::span<const double> logits, std::vector<int> ids) {
  RoutedRow row;
  row.ids = std::move(ids);
  row.weights = Weights<double>(rule, tensors, logits, row.ids);
  for (const Fp32Number& w : Weights<Fp32Number>(rule, tensors, logits, row.ids))
    row.bounds.push_back(w.error);
  return row;
}

RankedScores RankScores(const RouterRule& rule, const RouterTensors& tensors,
                        std::span<const double> logits) {
  RankedScores ranked;
  const Numbers<Fp32Number> values = ValuesOf<Fp32Number>(rule, logits);
  for (std::size_t e = 0; e < logits.size(); ++e) {
    Fp32Number score = values[e];
    if (!tensors.correction_bias.empty()) score = score + Fp32Number(tensors.correction_bias[e]);
    const bool finite = std::isfinite(logits[e]);
    ranked.value.push_back(finite ? score.value : kNever);
    ranked.error.push_back(finite ? score.error : 0);
  }
  return ranked;
}

double TakeZeroExperts(const RouterRule& rule, RoutedRow& row) {
  double identity = 0;
  for (std::size_t i = 0; i < row.ids.size(); ++i) {
    if (row.ids[i] < rule.experts) continue;
    identity += row.weights[i];
    row.ids[i] = 0;
    row.weights[i] = row.bounds[i] = 0;
  }
  return identity;
}

RouterRule RuleFor(const Problem& p) {
  RouterRule rule;
  rule.experts = p.experts;
  rule.zero_experts = p.zero_experts;
  rule.top_k = p.top_k;
  rule.store = p.fp32_gate ? LogitStore::kFp32 : LogitStore::kBf16;
  const bool softmax = p.router == RouterKind::kSoftmax || p.router == RouterKind::kTopkSoftmax ||
                       p.router == RouterKind::kSoftmaxBias;
  const bool root = p.router == RouterKind::kSqrtsoftplusBias || p.router == RouterKind::kHash;
  rule.scoring = softmax ? Scoring::kSoftmax : root ? Scoring::kSqrtsoftplus : Scoring::kSigmoid;
  if (p.router == RouterKind::kTopkSoftmax || p.router == RouterKind::kSigmoidTop1)
    rule.scope = ScoreScope::kSelectedOnly;
  if (p.router == RouterKind::kHash) rule.selection = SelectionKind::kHash;
  if (p.groups > 1) rule.selection = SelectionKind::kGrouped;
  rule.groups = p.groups;
  rule.groups_kept = p.groups_kept;
  if (p.norm && rule.scope == ScoreScope::kAllExperts && p.router != RouterKind::kSoftmaxBias) {
    rule.norm = softmax ? WeightNorm::kSumPlusEps : WeightNorm::kSumAboveEps;
    rule.eps = softmax ? 0 : 1e-20;
  }
  rule.scale = p.scale;
  if (p.router != RouterKind::kSoftmax && p.router != RouterKind::kTopkSoftmax)
    rule.scaled_at = ScaledAt::kWeights;
  rule.weights_on_input = p.router == RouterKind::kSigmoidTop1;
  return rule;
}

}  // namespace assay
