// Bounds for the FP32 evaluation of the contract's elementwise functions: an exponential within two
// units in the last place, IEEE addition, division and multiplication.
#pragma once

#include <cmath>

#include "reference/interval.h"

namespace assay {

// 1 / (1 + exp(-x)).
inline double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double Silu(double x) { return x * Sigmoid(x); }

// Where silu is smallest, and its value there.
inline constexpr double kSiluArgMin = -1.2784645427610738;
inline constexpr double kSiluMin = -0.27846454276107380;

// Two units in the last place are 4u of the value at most (a unit is 2u of a power of two).
inline constexpr double kExpRoundings = 4;

// |fl(sigmoid) - sigmoid|. The exponential errs by 4u of itself, which is (1 - s) of the sum; sum
// and quotient by u each. 1.01 covers the products of errors. Where exp(-x) overflows FP32
// (x < -88.7) the result is 0 instead of at most 2^-127.
inline double SigmoidError(double x) {
  const double s = Sigmoid(x);
  return 1.01 * kUnitFp32 * s * (kExpRoundings * (1 - s) + 2) + 0x1p-126;
}

// Absolute error of fl(g / (1 + exp(-g))) where the exponential overflows or results are subnormal:
// |silu(-88.7)| = 88.7 / 3.4e38.
inline constexpr double kSwigluFloor = 0x1p-121;

}  // namespace assay
