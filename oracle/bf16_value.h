// BF16 bit patterns as doubles, and the distance to the next BF16 value on either side.
#pragma once

#include <cstdint>

#include "reference/bf16.h"
#include "reference/expected.h"

namespace assay {

// What an output or stage element holds when no kernel has written it; a computed NaN is 0x7FFF.
inline constexpr std::uint16_t kUnwrittenBf16 = kBf16Poison;

inline double ValueOfBf16(std::uint16_t bits) { return Bf16ToFloat(bits); }

// Distance from `value` (finite, on the BF16 grid) to the next value above it; at the largest
// finite value, the distance to the one below.
double StepAbove(double value);
double StepBelow(double value);

// The reals that round into `stored`: its ends, widened by half a last-place step each. Ends that
// are not finite stay as they are.
Interval BeforeLastRounding(const Interval& stored);

// Half the width of BeforeLastRounding, always > 0; not finite where an end is not.
double HalfWidth(const Interval& stored);

// |value - center| over the distance from `center` to the end of the admissible reals on that side:
// at most 1 if `stored` holds the value, above 1 otherwise. Infinity where no distance exists (a
// NaN or an infinity that is not admissible).
double Margin(double value, double center, const Interval& stored);

}  // namespace assay
