#include "reference/router_expected.h"

#include <cmath>

#include "reference/fp32_error.h"
#include "reference/group_selection.h"
#include "reference/interval.h"
#include "reference/panels.h"
#include "reference/router_rule.h"

namespace assay {
namespace {

Operands InputOperands(const LayerData& layer) {
  const Problem& p = layer.problem;
  Operands operands;
  operands.production.resize(p.hidden, p.rows);
  for (int row = 0; row < p.rows; ++row)
    for (int i = 0; i < p.hidden; ++i)
      operands.production(i, row) = Bf16ToFloat(layer.input[std::size_t(row) * p.hidden + i]);
  operands.absolute = operands.production.cwiseAbs();
  return operands;
}

Interval ScoreInterval(const Interval& logit, float bias) {
  if (!IsFinite(logit)) return Anything();
  const double low = Sigmoid(logit.low), high = Sigmoid(logit.high);
  const double sum_low = low - SigmoidError(logit.low) + bias;
  const double sum_high = high + SigmoidError(logit.high) + bias;
  return {sum_low - kUnitFp32 * std::fabs(sum_low), sum_high + kUnitFp32 * std::fabs(sum_high)};
}

// A softmax score grows with its own logit and falls with every other; an FP32 exponential errs by
// 4u and u of its argument, the sum by the same of its terms and n u, the quotient by 2u.
Interval SoftmaxScore(std::span<const Interval> logits, std::size_t e) {
  double low_others = 0, high_others = 0, most = logits[e].high, least = logits[e].low;
  for (std::size_t f = 0; f < logits.size(); ++f) {
    if (IsOnlyNan(logits[f])) continue;
    most = std::max(most, logits[f].high);
    least = std::min(least, logits[f].low);
    if (f == e) continue;
    low_others += std::exp(logits[f].high - logits[e].low);
    high_others += std::exp(logits[f].low - logits[e].high);
  }
  const double roundings = 2 * (4 + most - least) + double(logits.size()) + 2;
  const double error = 1.01 * kUnitFp32 * roundings;
  return {1 / (1 + low_others) * (1 - error) - 0x1p-126,
          1 / (1 + high_others) * (1 + error) + 0x1p-126};
}

Interval WithBias(const Interval& score, float bias) {
  const double low = score.low + bias, high = score.high + bias;
  return {low - kUnitFp32 * std::fabs(low), high + kUnitFp32 * std::fabs(high)};
}

// Every other router: its scores grow with the expert's own logit alone, but for softmax scores.
std::vector<Interval> ScoresByRule(const Problem& problem, std::span<const Interval> stored,
                                   std::span<const float> bias) {
  const RouterRule rule = RuleFor(problem);
  std::vector<double> low, high;
  for (const Interval& i : stored) {
    low.push_back(i.low);
    high.push_back(i.high);
  }
  const RankedScores at_low = RankScores(rule, {}, low), at_high = RankScores(rule, {}, high);
  const bool softmax = rule.scoring == Scoring::kSoftmax && rule.scope == ScoreScope::kAllExperts;
  std::vector<Interval> scores;
  for (std::size_t e = 0; e < stored.size(); ++e) {
    Interval score{at_low.value[e] - at_low.error[e], at_high.value[e] + at_high.error[e]};
    if (IsOnlyNan(stored[e]) || !IsFinite(stored[e]))
      score = IsOnlyNan(stored[e]) ? stored[e] : Anything();
    else if (softmax)
      score = SoftmaxScore(stored, e);
    scores.push_back(bias.empty() || !IsFinite(score) ? score : WithBias(score, bias[e]));
  }
  return scores;
}

// Whether f precedes e whatever the scores are.
bool AlwaysBeats(std::span<const Interval> scores, int f, int e) {
  if (scores[f].nan) return false;
  return scores[f].low > scores[e].high || (scores[f].low == scores[e].high && f < e);
}

Interval StoredLogit(const Sums& sums, int terms, int expert, int row, Accumulation accumulation) {
  const double magnitude = sums.absolute(expert, row);
  SumSize size{double(terms), magnitude};
  if (sums.partials.size() > 0) size.partials = sums.partials(expert, row);
  return StoredSum(sums.production(expert, row), AccumulationBound(accumulation, size), magnitude);
}

}  // namespace

PackedMatrix AsMatrix(std::span<const std::uint16_t> bits, int rows, int columns) {
  PackedMatrix matrix{Format::kBf16, false, rows, columns, {}, {}};
  matrix.payload.reserve(2 * bits.size());
  for (const std::uint16_t word : bits) {
    matrix.payload.push_back(static_cast<std::uint8_t>(word & 255));
    matrix.payload.push_back(static_cast<std::uint8_t>(word >> 8));
  }
  return matrix;
}

std::vector<Interval> ScoreIntervals(const Problem& problem, std::span<const Interval> stored,
                                     std::span<const float> bias) {
  std::vector<Interval> scores(stored.begin(), stored.end());
  if (problem.router == RouterKind::kSoftmax) return scores;
  if (problem.router != RouterKind::kSigmoidBias) return ScoresByRule(problem, stored, bias);
  for (std::size_t e = 0; e < scores.size(); ++e)
    scores[e] = ScoreInterval(stored[e], bias.empty() ? 0.0f : bias[e]);
  return scores;
}

// An expert is out when k others certainly precede it.
std::vector<int> MayBeChosen(std::span<const Interval> scores, int k) {
  std::vector<int> may;
  for (int e = 0; e < static_cast<int>(scores.size()); ++e) {
    if (IsOnlyNan(scores[e])) continue;
    int better = 0;
    for (int f = 0; f < static_cast<int>(scores.size()) && better < k; ++f)
      better += f != e && AlwaysBeats(scores, f, e);
    if (better < k) may.push_back(e);
  }
  return may;
}

RouterExpected ExpectRouter(const LayerData& layer, Accumulation accumulation) {
  const Problem& p = layer.problem;
  const Sums sums =
      Multiply(AsMatrix(layer.router_weight, p.experts, p.hidden), p.codes, InputOperands(layer));
  RouterExpected expected;
  expected.logits.resize(std::size_t(p.rows) * p.experts);
  expected.stored.resize(expected.logits.size());
  for (int row = 0; row < p.rows; ++row) {
    const std::size_t at = std::size_t(row) * p.experts;
    for (int e = 0; e < p.experts; ++e) {
      expected.logits[at + e] = sums.production(e, row);
      expected.stored[at + e] = StoredLogit(sums, p.hidden, e, row, accumulation);
    }
    const std::span<const Interval> stored(expected.stored.data() + at, p.experts);
    expected.may.push_back(MayBeChosen(ScoreIntervals(p, stored, layer.router_bias), p.top_k));
  }
  return expected;
}

}  // namespace assay
