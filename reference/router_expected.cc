#include "reference/router_expected.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "reference/contract_steps.h"
#include "reference/fp32_error.h"
#include "reference/group_selection.h"
#include "reference/interval.h"
#include "reference/lora_fold.h"
#include "reference/panels.h"
#include "reference/router_input.h"
#include "reference/router_rule.h"
#include "reference/routing.h"

namespace assay {
namespace {

// A logit that is certainly not finite: the expert is never chosen.
bool IsNever(const Interval& logit) {
  return IsOnlyNan(logit) || (logit.low == logit.high && !std::isfinite(logit.low));
}

Interval ScoreInterval(const Interval& logit, float bias) {
  if (IsNever(logit)) return OnlyNan();
  if (!IsFinite(logit)) return Anything();
  const double low = Sigmoid(logit.low), high = Sigmoid(logit.high);
  const double sum_low = low - SigmoidError(logit.low) + bias;
  const double sum_high = high + SigmoidError(logit.high) + bias;
  return {sum_low - kUnitFp32 * std::fabs(sum_low), sum_high + kUnitFp32 * std::fabs(sum_high)};
}

// A softmax score grows with its own logit and falls with every other; an FP32 exponential errs by
// 4u and u of its argument, the sum by the same of its terms and n u, the quotient by 2u.
Interval SoftmaxScore(std::span<const Interval> logits, std::size_t e) {
  // Its own term stands in its place, so that equal logits give equal bits.
  double low_all = 0, high_all = 0, most = logits[e].high, least = logits[e].low;
  for (std::size_t f = 0; f < logits.size(); ++f) {
    if (IsNever(logits[f])) continue;
    most = std::max(most, logits[f].high);
    least = std::min(least, logits[f].low);
    low_all += f == e ? 1 : std::exp(logits[f].high - logits[e].low);
    high_all += f == e ? 1 : std::exp(logits[f].low - logits[e].high);
  }
  const double roundings = 2 * (4 + most - least) + double(logits.size()) + 2;
  const double error = 1.01 * kUnitFp32 * roundings;
  return {1 / low_all * (1 - error) - 0x1p-126, 1 / high_all * (1 + error) + 0x1p-126};
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
    if (IsNever(stored[e]) || !IsFinite(stored[e]))
      score = IsNever(stored[e]) ? OnlyNan() : Anything();
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

// One logit as stored: the product, the spread of a normed input, the bias.
Interval StoredLogitAt(const LayerData& layer, const Sums& sums, int output, int row,
                       Accumulation order) {
  const Problem& p = layer.problem;
  const bool normed = sums.absolute.cols() > p.rows;
  const double spread = normed ? sums.absolute(output, p.rows + row) * kDoubleSlack : 0;
  SumSize size{double(p.hidden), sums.absolute(output, row)};
  if (sums.partials.size() > 0)
    size.partials = sums.partials(output, row) + double(p.hidden) * spread;
  double radius = spread + AccumulationBound(order, size);
  double center = sums.production(output, row);
  if (std::isinf(center)) return {center, center, true};  // a weight was infinite
  if (!layer.logit_bias.empty()) {
    const double bias = Bf16ToFloat(layer.logit_bias[output]);
    center += bias;
    size.magnitude += std::fabs(bias);
    radius += kUnitFp32 * kDoubleSlack * (std::fabs(center) + radius);
  }
  return StoredSum(p.fp32_gate ? Store::kFp32 : Store::kBf16, center, radius, size.magnitude);
}

Sums RouterSums(const LayerData& layer, Accumulation order) {
  const Problem& p = layer.problem;
  Operands input = RouterInput(layer, order);
  // A BF16 gate has one stated order, the lanes; a packed one may be a chain as well.
  input.want_partials = layer.packed_router && order == Accumulation::kChainOrLanes;
  return layer.packed_router
             ? Multiply(*layer.packed_router, p.codes, input)
             : Multiply(AsMatrix(layer.router_weight, p.RouterOutputs(), p.hidden), p.codes, input);
}

// Adapters' delta on the logits of a row.
void FoldIntoLogits(const LayerData& layer, const Operands& input, int row, Accumulation order,
                    RouterExpected& expected) {
  const Eigen::Index rows = input.production.cols();
  const bool balls = input.absolute.cols() > rows, differs = input.exact.cols() > 0;
  LoraValues x, logits;
  for (Eigen::Index i = 0; i < input.production.rows(); ++i) {
    const double center = input.production(i, row);
    const double radius = balls ? input.absolute(i, rows + row) : 0;
    x.stored.push_back({center - radius, center + radius});
    x.exact.push_back(differs ? input.exact(i, row) : center);
  }
  const std::size_t outputs = std::size_t(layer.problem.RouterOutputs()), at = row * outputs;
  const auto stored = expected.stored.begin() + std::ptrdiff_t(at);
  const auto exact = expected.logits.begin() + std::ptrdiff_t(at);
  logits.stored.assign(stored, stored + std::ptrdiff_t(outputs));
  logits.exact.assign(exact, exact + std::ptrdiff_t(outputs));
  FoldLoraIntervals(layer.lora.AdapterOf(row), LoraSite::kRouter, x, order, logits);
  std::copy(logits.stored.begin(), logits.stored.end(), stored);
  std::copy(logits.exact.begin(), logits.exact.end(), exact);
}

std::vector<int> MayOf(const LayerData& layer, int row, std::span<const Interval> stored) {
  const Problem& p = layer.problem;
  if (p.router == RouterKind::kHash) {
    const auto ids = RouteInputsOf(layer, row).hash_ids;
    std::set<int> named;
    for (const std::int64_t id : ids)
      if (id >= 0 && id < p.experts) named.insert(static_cast<int>(id));
    return {named.begin(), named.end()};
  }
  const std::vector<Interval> scores = ScoreIntervals(p, stored, layer.router_bias);
  std::vector<int> may = p.groups > 1 ? MayBeChosenInGroups(RuleFor(p), scores, p.top_k)
                                      : MayBeChosen(scores, p.top_k);
  const bool identity = !may.empty() && may.back() >= p.experts;
  if (identity && may.front() != 0) may.insert(may.begin(), 0);
  return may;
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
  for (Interval& score : scores)
    if (IsNever(score)) score = OnlyNan();
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

ScoreBoxes BoxesOf(std::span<const Interval> scores) {
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  ScoreBoxes boxes;
  for (const Interval& score : scores) {
    boxes.low.push_back(IsOnlyNan(score) ? kNever : score.low);
    boxes.high.push_back(IsOnlyNan(score) ? kNever : score.high);
  }
  return boxes;
}

// The k best of its own group are all that an expert of a kept group must be among, so far as the
// other groups are not known to be kept.
std::vector<int> MayBeChosenInGroups(const RouterRule& rule, std::span<const Interval> scores,
                                     int k) {
  const std::vector<bool> kept = GroupsThatMayBeKept(rule, BoxesOf(scores));
  const int size = static_cast<int>(scores.size()) / rule.groups;
  std::vector<int> may;
  for (int g = 0; g < rule.groups; ++g) {
    if (!kept[g]) continue;
    for (const int inside : MayBeChosen(scores.subspan(std::size_t(g) * size, size), k))
      may.push_back(g * size + inside);
  }
  return may;
}

RouterExpected ExpectRouter(const LayerData& layer, Accumulation accumulation) {
  const Problem& p = layer.problem;
  const Sums sums = RouterSums(layer, accumulation);
  const Eigen::MatrixXd& exact = sums.exact.cols() > 0 ? sums.exact : sums.production;
  const int outputs = p.RouterOutputs();
  RouterExpected expected;
  expected.logits.resize(std::size_t(p.rows) * outputs);
  expected.stored.resize(expected.logits.size());
  for (int row = 0; row < p.rows; ++row) {
    const std::size_t at = std::size_t(row) * outputs;
    for (int e = 0; e < outputs; ++e) {
      const double bias = layer.logit_bias.empty() ? 0.0 : Bf16ToFloat(layer.logit_bias[e]);
      expected.logits[at + e] = exact(e, row) + bias;
      expected.stored[at + e] = StoredLogitAt(layer, sums, e, row, accumulation);
    }
    if (layer.lora.AdapterOf(row) != nullptr)
      FoldIntoLogits(layer, RouterInput(layer, accumulation), row, accumulation, expected);
    expected.may.push_back(
        MayOf(layer, row, std::span<const Interval>(expected.stored.data() + at, outputs)));
  }
  return expected;
}

}  // namespace assay
