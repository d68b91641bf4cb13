#include "oracle/free_order.h"

#include <algorithm>
#include <cmath>

#include "oracle/bf16_value.h"
#include "reference/accumulation.h"

namespace assay {
namespace {

double Largest(const Interval& interval) {
  const double largest = std::max(std::abs(interval.low), std::abs(interval.high));
  return std::isfinite(largest) ? largest : HUGE_VAL;
}

// The terms of an element are the same FP32 numbers in every run: weight times down, and the shared
// one with a factor of at most 1. A sum of n of them in any order passes each through at most n - 1
// additions, so it lies within g S of the exact sum, S the sum of their magnitudes, g = (n - 1) u /
// (1 - (n - 1) u). Two runs lie within twice that. The terms' own rounding adds (1 + u) to S.
//
// Under expert parallel each rank stores its part in BF16 and each of the ranks - 1 additions of
// the all-reduce stores again. Two values that lie d apart are stored at most d + 2^-7 |value|
// apart, a step of the grid, and no value exceeds S (1 + 2^-7) a store.
double Spread(const Problem& p, double sum) {
  const double additions = p.top_k + (p.shared ? 1 : 0) - 1;
  const double g = additions * kUnitFp32 / (1 - additions * kUnitFp32);
  const double order = 2 * g * sum * (1 + kUnitFp32) * kDoubleSlack;
  const int stores = p.ep > 1 ? 2 * p.ep - 1 : 0;
  return order + stores * 0x1p-7 * sum * std::pow(1 + 0x1p-7, stores);
}

}  // namespace

bool FreeOrder::Explains(std::size_t at, std::uint16_t a, std::uint16_t b) const {
  if (a == b || !std::isfinite(spread[at])) return true;
  const double left = ValueOfBf16(a), right = ValueOfBf16(b);
  if (!std::isfinite(left) || !std::isfinite(right)) return false;
  const double low = std::min(left, right), high = std::max(left, right);
  const double gap = BeforeLastRounding({high, high}).low - BeforeLastRounding({low, low}).high;
  return gap <= spread[at];
}

FreeOrder SpreadOf(const CaseContext& context, const RunRecord& run,
                   const OutputExpected& expected) {
  const Problem& p = context.layer.problem;
  const StageExpected& stages = expected.stages;
  FreeOrder free;
  for (std::int64_t row = 0; row < p.rows; ++row)
    for (std::int64_t column = 0; column < p.hidden; ++column) {
      double sum = p.shared ? Largest(stages.shared_down[row * p.hidden + column]) : 0;
      for (std::int64_t slot = row * p.top_k; slot < (row + 1) * p.top_k; ++slot)
        sum += std::abs(double{run.weights[slot]}) * Largest(stages.down[slot * p.hidden + column]);
      free.spread.push_back(Spread(p, sum));
    }
  return free;
}

}  // namespace assay
