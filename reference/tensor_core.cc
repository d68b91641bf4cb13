#include "reference/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace assay {
namespace {

constexpr int kNoExponent = -100000;

// e of 2^e <= |x| < 2^(e + 1); subnormals by their value.
int Exponent(float x) { return x == 0 ? kNoExponent : std::ilogb(x); }

// x truncated toward zero to a multiple of 2^unit, in those units.
std::int64_t TruncatedUnits(double x, int unit) {
  return static_cast<std::int64_t>(std::trunc(std::ldexp(x, -unit)));
}

// Toward zero, `bits` fraction bits; below the normal range of FP32 at its last subnormal bit.
float TruncatedTo(double x, int bits) {
  if (x == 0) return 0;
  const int unit = std::max(std::ilogb(x) - bits, -149);
  return static_cast<float>(std::ldexp(std::trunc(std::ldexp(x, -unit)), unit));
}

double Blocks(double terms, double block) { return std::ceil(terms / block); }

// A chain of blocks, each truncating every addend and then the output: (L + 1) 2^-F of the largest
// addend and 2^-output of the sum; neither exceeds the sum of magnitudes by more than the bound.
double ChainOfBlocks(const AccumulateModel& m, const SumSize& sum) {
  const double step =
      (m.block + 1) * std::ldexp(1, -m.fraction_bits) + std::ldexp(1, -m.output_bits);
  const double blocks = Blocks(sum.terms, m.block);
  double bound = blocks * step * sum.magnitude;
  // In the order of the inputs, from `partials` (see SumSize): a block that lies in one of its runs
  // of 32 adds at most step * (|sum before| + magnitudes in the run); the last may be partial.
  constexpr int kRun = 32;
  if (m.order == Accumulation::kChainOrLanes && kRun % m.block == 0)
    bound = std::min(bound, step * (sum.partials / m.block + sum.magnitude));
  return bound / (1 - blocks * step);
}

double TensorCoreBound(AccumulateModel m, const SumSize& sum) {
  // Splitting breaks one chain into several, of whose partial sums `partials` says nothing. Each
  // part's error is relative to its own magnitudes, which add up to the sum's.
  if (m.split_k > 1) m.order = Accumulation::kAnyOrder;
  if (m.promote == 0) return ChainOfBlocks(m, sum);
  // Chunks apart: their errors are relative to their own magnitudes, which add up to the sum's.
  const AccumulateModel chunk{Accumulation::kAnyOrder, m.block, m.fraction_bits, m.output_bits};
  const double inside = ChainOfBlocks(chunk, {double(m.promote), sum.magnitude});
  return inside + Blocks(sum.terms, m.promote) * kUnitFp32 * (sum.magnitude + inside);
}

float PromotedDot(const AccumulateModel& m, std::span<const float> a, std::span<const float> b) {
  const std::size_t chunk = m.promote == 0 ? a.size() : m.promote;
  float total = 0;
  for (std::size_t first = 0; first < a.size(); first += chunk) {
    const std::size_t end = std::min(a.size(), first + chunk);
    float sum = 0;
    for (std::size_t at = first; at < end; at += m.block) {
      const std::size_t count = std::min<std::size_t>(m.block, end - at);
      sum = TensorCoreStep(m, a.subspan(at, count), b.subspan(at, count), sum);
    }
    total = first == 0 ? sum : total + sum;
  }
  return total;
}

}  // namespace

float TensorCoreStep(const AccumulateModel& model, std::span<const float> a,
                     std::span<const float> b, float addend) {
  int largest = Exponent(addend);
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i] != 0 && b[i] != 0) largest = std::max(largest, Exponent(a[i]) + Exponent(b[i]));
  if (largest == kNoExponent) return 0;
  const int unit = largest - model.fraction_bits;
  std::int64_t sum = TruncatedUnits(addend, unit);
  for (std::size_t i = 0; i < a.size(); ++i) sum += TruncatedUnits(double{a[i]} * b[i], unit);
  return TruncatedTo(std::ldexp(static_cast<double>(sum), unit), model.output_bits);
}

float TensorCoreDot(const AccumulateModel& model, std::span<const float> a,
                    std::span<const float> b) {
  const std::size_t part = (a.size() + model.split_k - 1) / model.split_k;
  float total = 0;
  for (std::size_t first = 0; first < a.size(); first += part) {
    const std::size_t count = std::min(part, a.size() - first);
    const float sum = PromotedDot(model, a.subspan(first, count), b.subspan(first, count));
    total = first == 0 ? sum : total + sum;
  }
  return total;
}

double SumBound(const AccumulateModel& model, const SumSize& sum) {
  double bound = model.block == 0
                     ? AccumulationBound(model.order, sum)
                     : TensorCoreBound(model, sum) * kDoubleSlack + sum.terms * kFp32Tiny;
  const double roundings = model.scale_roundings + (model.split_k - 1);
  if (model.split_k > 1 && model.block == 0) bound = AnyOrderBound(sum) + sum.terms * kFp32Tiny;
  return bound + roundings * kUnitFp32 * kDoubleSlack * (sum.magnitude + bound);
}

}  // namespace assay
