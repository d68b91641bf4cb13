#include "reference/router_expected.h"

#include <cmath>

#include "reference/fp32_error.h"
#include "reference/interval.h"
#include "reference/panels.h"

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
