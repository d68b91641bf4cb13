// From real weights to a container.
#pragma once

#include "reference/containers.h"

namespace assay {

// How scales and codes are computed.
enum class QuantiseRule {
  // FP32 steps of the production engine: NVFP4 global scale = absmax / (6 * 448), or 1 where absmax
  // is 0; block scale = absmax / largest element / global; quotients rounded to FP32 before the
  // conversion to the code.
  kProduction,
  // The same formulas in double: every code is the nearest, ties to even, of one real quotient.
  kNearestEven,
};

// `values` is [rows, columns]. Codes saturate. Block scales of zero give zero codes. E8M0 scales
// are the smallest power of two that does not clip (2^ceil(log2(absmax / largest))).
// INT4: scale = (max - min) / 15 over the group and zero, in FP16; zero point round(-min / scale).
// Throws UsageError for values that are not finite.
Container Quantise(const ContainerScheme& scheme, int rows, int columns,
                   std::span<const float> values, QuantiseRule rule, bool transposed = false);

// Largest finite magnitude of an element.
double LargestOf(Element element);

}  // namespace assay
