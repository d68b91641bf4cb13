// Intervals at rounding points. Every bound is a double that is certain; BF16 rounding is monotone,
// so rounding the ends gives the admissible stored values.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/accumulation.h"
#include "reference/bf16.h"
#include "reference/expected.h"

namespace assay {

inline constexpr double kFp32Max = 0x1.FFFFFEp127;

inline Interval Anything() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {-kInfinity, kInfinity, true};
}

inline Interval OnlyNan() {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  return {kNan, kNan, true};
}

inline bool IsOnlyNan(const Interval& i) { return std::isnan(i.low); }
inline bool IsFinite(const Interval& i) { return std::isfinite(i.low) && std::isfinite(i.high); }
inline double Largest(const Interval& i) { return std::max(std::fabs(i.low), std::fabs(i.high)); }

// Stored BF16 values of an FP32 sum that lies within `radius` of `center`; `magnitude` bounds the
// sum of its terms' magnitudes. A NaN centre is certain to be NaN.
inline Interval StoredSum(double center, double radius, double magnitude) {
  if (std::isnan(center)) return OnlyNan();
  if (!(magnitude + radius < kFp32Max)) return Anything();  // partial sums may overflow
  return {RoundToBf16(center - radius), RoundToBf16(center + radius)};
}

// {x * y : x in a, y in b} for finite ends.
inline Interval Product(const Interval& a, const Interval& b) {
  const double p[] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
  return {std::min({p[0], p[1], p[2], p[3]}), std::max({p[0], p[1], p[2], p[3]})};
}

}  // namespace assay
