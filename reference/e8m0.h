// E8M0, the scale of the MX formats: 2^(code - 127). Codes 0 and 255 are 2^-127 and NaN by the OCP
// standard; the production engine reads both as 0.0.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "reference/problem.h"

namespace assay {

inline constexpr int kE8m0Nan = 255;

// Exact: 2^-127 is a subnormal float, made from its bits.
constexpr float DecodeE8m0(std::uint8_t code, CodePolicy policy) {
  const bool edge = code == 0 || code == kE8m0Nan;
  if (edge && policy == CodePolicy::kProduction) return 0.0f;
  if (code == kE8m0Nan) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(code == 0 ? 0x00400000u : std::uint32_t{code} << 23);
}

// Nearest power of two, the tie 1.5 * 2^e up. NaN, zero and negative values have no code: NaN.
// From 1.5 * 2^127 on: NaN. Positive values below 2^-127 give code 0.
inline std::uint8_t EncodeE8m0(float value) {
  if (!(value > 0) || std::isinf(value)) return kE8m0Nan;
  int exponent = 0;
  const float half = std::frexp(value, &exponent);  // value = half * 2^exponent, half in [.5, 1)
  const int code = exponent - 1 + 127 + (half >= 0.75f ? 1 : 0);
  if (code > 254) return kE8m0Nan;
  return static_cast<std::uint8_t>(code < 0 ? 0 : code);
}

// As EncodeE8m0 after clamping to [2^-127, 2^127]; NaN stays NaN.
inline std::uint8_t EncodeE8m0Saturated(float value) {
  if (std::isnan(value)) return kE8m0Nan;
  if (value < 0x1p-127f) return 0;
  return value > 0x1p127f ? 254 : EncodeE8m0(value);
}

// The smallest power of two that is not below `value` (a scale that never clips); 0 for values up
// to 2^-127, zero included. NaN from 2^127 on upwards.
inline std::uint8_t E8m0AtLeast(double value) {
  if (!(value <= 0x1p127)) return kE8m0Nan;
  if (value <= 0x1p-127) return 0;
  int exponent = 0;
  const double half = std::frexp(value, &exponent);
  return static_cast<std::uint8_t>((half == 0.5 ? exponent - 1 : exponent) + 127);
}

// 2^(floor(log2(absmax)) - largest_exponent): the rule of the MX standard, which clips.
inline std::uint8_t E8m0Floor(double absmax, int largest_exponent) {
  if (!(absmax < 0x1p128)) return kE8m0Nan;
  if (absmax <= 0) return 0;
  const int code = std::ilogb(absmax) - largest_exponent + 127;
  return static_cast<std::uint8_t>(code < 0 ? 0 : code > 254 ? 254 : code);
}

}  // namespace assay
