#include "reference/lora_fold.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "reference/bf16.h"
#include "reference/interval.h"

namespace assay {
namespace {

using Bits = std::span<const std::uint16_t>;

// One inner product of a BF16 row with values that lie in intervals, as stored in BF16.
Interval StoredDot(Bits row, const std::vector<Interval>& x, bool lanes) {
  double center = 0, magnitude = 0, spread = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (IsOnlyNan(x[i])) return OnlyNan();
    if (!IsFinite(x[i])) return Anything();
    const double weight = Bf16ToFloat(row[i]), radius = (x[i].high - x[i].low) / 2;
    center += weight * ((x[i].high + x[i].low) / 2);
    spread += std::fabs(weight) * radius;
    magnitude += std::fabs(weight) * Largest(x[i]);
  }
  const SumSize size{double(row.size()), magnitude * kDoubleSlack, 0};
  const double rounding =
      (lanes ? std::min(LanesBound(size), AnyOrderBound(size)) : AnyOrderBound(size)) +
      size.terms * kFp32Tiny;
  return StoredSum(center, spread * kDoubleSlack + rounding, size.magnitude);
}

double ExactDot(Bits row, const std::vector<double>& x) {
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i) sum += double{Bf16ToFloat(row[i])} * x[i];
  return sum;
}

LoraValues Times(Bits matrix, const LoraValues& x, bool lanes) {
  LoraValues result;
  const std::size_t width = x.stored.size();
  for (std::size_t first = 0; first < matrix.size(); first += width) {
    result.stored.push_back(StoredDot(matrix.subspan(first, width), x.stored, lanes));
    result.exact.push_back(ExactDot(matrix.subspan(first, width), x.exact));
  }
  return result;
}

// bf16(base + fl(scale * delta)): a product and a sum, rounded each, then the store.
Interval Added(const Interval& base, float scale, const Interval& delta) {
  if (IsOnlyNan(base) || IsOnlyNan(delta)) return OnlyNan();
  if (!IsFinite(base) || !IsFinite(delta)) return Anything();
  const Interval product = Product({scale, scale}, delta);
  const double low = base.low + product.low, high = base.high + product.high;
  const double size = std::max(std::fabs(low), std::fabs(high)) + Largest(product);
  const double radius = (high - low) / 2 + 1.01 * kUnitFp32 * size + kFp32Tiny;
  return StoredSum((low + high) / 2, radius, Largest(base) + Largest(product));
}

}  // namespace

void FoldLoraIntervals(const LoraAdapterData* adapter, LoraSite site, const LoraValues& x,
                       Accumulation order, LoraValues& base) {
  if (adapter == nullptr || adapter->At(site).a.empty()) return;
  const LoraPair& pair = adapter->At(site);
  const LoraValues low = Times(pair.a, x, order == Accumulation::kChainOrLanes);
  const LoraValues delta = Times(pair.b, low, false);
  for (std::size_t i = 0; i < base.stored.size(); ++i) {
    base.stored[i] = Added(base.stored[i], adapter->scale, delta.stored[i]);
    base.exact[i] += double{adapter->scale} * delta.exact[i];
  }
}

}  // namespace assay
