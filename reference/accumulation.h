// How far an FP32 sum of products may lie from the exact one.
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/expected.h"

namespace assay {

inline constexpr double kUnitFp32 = 0x1p-24;
// What one product can lose below the normal range.
inline constexpr double kFp32Tiny = 0x1p-149;
// Covers the reference taking its sums in double: K 2^-53 is far below 2^-20 of K 2^-24.
inline constexpr double kDoubleSlack = 1 + 0x1p-20;

// The sum of which a bound is wanted.
struct SumSize {
  double terms = 0;      // products
  double magnitude = 0;  // bounds the sum of their magnitudes
  double partials = 0;  // bounds the sum of |partial sum| over the chain in the order of the inputs
};

// Fused or not, in any order: K u S1 (Jeannerod and Rump 2013).
inline double AnyOrderBound(const SumSize& sum) {
  return sum.terms * kUnitFp32 * kDoubleSlack * sum.magnitude;
}

// Every fmaf of a chain rounds its partial sum once: E <= u sum(|c_k| + E), hence
// E <= u sum|c_k| / (1 - K u).
inline double ChainBound(const SumSize& sum) {
  return kUnitFp32 * kDoubleSlack * sum.partials / (1 - sum.terms * kUnitFp32);
}

// No product passes more roundings than its lane has products, and five of the tree.
inline double LanesBound(const SumSize& sum) {
  constexpr double kLanes = 32, kWidestStep = 16, kTree = 5;
  const double roundings = std::ceil(sum.terms / (kLanes * kWidestStep)) * kWidestStep + kTree;
  return roundings * kUnitFp32 * kDoubleSlack * sum.magnitude / (1 - roundings * kUnitFp32);
}

inline double AccumulationBound(Accumulation order, const SumSize& sum) {
  double bound = AnyOrderBound(sum);
  if (order == Accumulation::kChainOrLanes)
    bound = std::min(bound, std::max(ChainBound(sum), LanesBound(sum)));
  return bound + sum.terms * kFp32Tiny;
}

}  // namespace assay
