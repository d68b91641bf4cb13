#include "reference/routing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "reference/fp32_error.h"
#include "reference/group_selection.h"
#include "reference/router_expected.h"
#include "reference/router_rule.h"

namespace assay {
namespace {

bool CanBeChosen(double score) { return score > -std::numeric_limits<double>::infinity(); }

double SumOf(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Softmax over all experts, e = exp(l - max): the FP32 difference errs by u |l - max|, which is an
// equal relative error of the exponential, itself within 4u (two units in the last place).
struct Exponentials {
  std::vector<double> chosen, chosen_error;  // of the chosen, errors in u, relative
  double sum = 0, sum_error = 0;             // over all experts, error in u, relative
};

Exponentials TakeExponentials(std::span<const double> logits, std::span<const int> chosen) {
  Exponentials result;
  double max = -std::numeric_limits<double>::infinity();
  for (const double l : logits)
    if (std::isfinite(l)) max = std::max(max, l);
  double weighted = 0;
  for (const double l : logits) {
    if (!std::isfinite(l)) continue;
    const double e = std::exp(l - max);
    result.sum += e;
    weighted += e == 0 ? 0 : e * (kExpRoundings + (max - l));
  }
  result.sum_error = weighted / result.sum + static_cast<double>(logits.size()) - 1;
  for (const int id : chosen) {
    result.chosen.push_back(std::exp(logits[id] - max));
    result.chosen_error.push_back(kExpRoundings + (max - logits[id]));
  }
  return result;
}

// Divides by the FP32 sum of the values, whose error is their weighted error and k - 1 additions; a
// rounded reciprocal and a product (2u) count as a division.
void Normalise(std::vector<double>& values, std::vector<double>& errors) {
  const double sum = SumOf(values);
  double weighted = 0;
  for (std::size_t i = 0; i < values.size(); ++i) weighted += values[i] / sum * errors[i];
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] /= sum;
    errors[i] += weighted + static_cast<double>(values.size()) - 1 + 2;
  }
}

// An FP32 exponential or quotient may be flushed to zero below this.
constexpr double kUnderflow = 0x1p-126;

// `floor` is the absolute error of every weight, beside its relative one.
WeightsExpected Finish(std::vector<double> weights, const std::vector<double>& errors,
                       double floor = kUnderflow) {
  WeightsExpected expected{std::move(weights), {}};
  for (std::size_t i = 0; i < errors.size(); ++i) {
    const double relative = errors[i] * kUnitFp32;
    expected.bound.push_back(std::fabs(expected.weights[i]) * relative / (1 - relative) + floor);
  }
  return expected;
}

WeightsExpected SoftmaxWeights(const Problem& p, std::span<const double> logits,
                               std::span<const int> chosen) {
  Exponentials e = TakeExponentials(logits, chosen);
  // The quotient by the sum over all; its error is common to the chosen and leaves with the
  // normalisation, the rounding of the quotient (2u) stays.
  for (std::size_t i = 0; i < e.chosen.size(); ++i) {
    e.chosen[i] /= e.sum;
    e.chosen_error[i] += p.norm ? 2 : 2 + e.sum_error;
  }
  if (p.norm) Normalise(e.chosen, e.chosen_error);
  return Finish(std::move(e.chosen), e.chosen_error);
}

WeightsExpected SigmoidWeights(const Problem& p, std::span<const double> logits,
                               std::span<const int> chosen) {
  constexpr double kSmallestSum = 1e-20;  // no division from here down
  std::vector<double> weights, errors;
  for (const int id : chosen) {
    const double s = Sigmoid(logits[id]);
    weights.push_back(s);
    errors.push_back(1.01 * (kExpRoundings * (1 - s) + 2));  // as SigmoidError
  }
  double floor = kUnderflow;
  const double sum = SumOf(weights);
  if (p.norm && sum > kSmallestSum) {
    // What underflowed is divided too, and so is what the sum lost by it: one share for each term.
    floor += kUnderflow * static_cast<double>(weights.size() + 1) / sum;
    Normalise(weights, errors);
  }
  floor = floor * std::fabs(p.scale) + kUnderflow;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    weights[i] *= p.scale;
    if (p.scale != 1) errors[i] += 2;  // the scale's own rounding and the product
  }
  return Finish(std::move(weights), errors, floor);
}

// All routers but the two whose arithmetic the paths state in detail.
WeightsExpected WeightsByRule(const Problem& p, std::span<const double> logits,
                              std::span<const int> chosen) {
  RoutedRow row = WeighChosen(RuleFor(p), {}, logits, {chosen.begin(), chosen.end()});
  return {std::move(row.weights), std::move(row.bounds)};
}

std::vector<double> ScoresByRule(const Problem& p, std::span<const double> logits,
                                 std::span<const float> bias) {
  const RouterRule rule = RuleFor(p);
  const std::vector<double> correction(bias.begin(), bias.end());
  std::vector<double> scores = RankScores(rule, {{}, correction, {}, {}}, logits).value;
  return rule.selection == SelectionKind::kGrouped ? MaskDroppedGroups(rule, scores) : scores;
}

}  // namespace

std::vector<int> TopK(std::span<const double> scores, int k) {
  std::vector<int> order;
  for (int i = 0; i < static_cast<int>(scores.size()); ++i)
    if (CanBeChosen(scores[i])) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return scores[a] > scores[b]; });
  if (static_cast<int>(order.size()) > k) order.resize(k);
  return order;
}

std::vector<double> SelectionScores(const Problem& problem, std::span<const double> logits,
                                    std::span<const float> bias) {
  if (problem.router != RouterKind::kSoftmax && problem.router != RouterKind::kSigmoidBias)
    return ScoresByRule(problem, logits, bias);
  std::vector<double> scores(logits.begin(), logits.end());
  for (double& score : scores)
    if (!std::isfinite(score)) score = -std::numeric_limits<double>::infinity();
  if (problem.router == RouterKind::kSoftmax) return scores;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (CanBeChosen(scores[i])) scores[i] = Sigmoid(scores[i]) + (bias.empty() ? 0.0 : bias[i]);
  return scores;
}

bool Admissible(std::span<const double> score_low, std::span<const double> score_high,
                std::span<const int> chosen) {
  std::vector<bool> in(score_low.size(), false);
  double worst_in = std::numeric_limits<double>::infinity();
  for (const int e : chosen) {
    in[e] = true;
    worst_in = std::min(worst_in, score_high[e]);
  }
  for (std::size_t f = 0; f < in.size(); ++f)
    if (!in[f] && score_low[f] > worst_in) return false;
  return true;
}

WeightsExpected RouteWeights(const Problem& problem, std::span<const double> stored_logits,
                             std::span<const int> chosen) {
  if (problem.router == RouterKind::kSoftmax) return SoftmaxWeights(problem, stored_logits, chosen);
  if (problem.router == RouterKind::kSigmoidBias)
    return SigmoidWeights(problem, stored_logits, chosen);
  return WeightsByRule(problem, stored_logits, chosen);
}

}  // namespace assay
