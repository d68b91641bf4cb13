// BF16: the upper half of an FP32 number. Rounding is to nearest, ties to even, from float or
// (one single rounding) from double. A computed NaN is stored as 0x7FFF; 0xFFFF marks memory that
// nobody wrote.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace assay {

inline constexpr std::uint16_t kBf16Nan = 0x7FFF;
inline constexpr std::uint16_t kBf16Poison = 0xFFFF;
inline constexpr double kBf16Max = 0x1.FEp127;

constexpr float Bf16ToFloat(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

constexpr std::uint16_t FloatToBf16(float value) {
  if (value != value) return kBf16Nan;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

// The BF16 number nearest to `value`, as a double; infinite from the overflow edge on.
inline double RoundToBf16(double value) {
  if (std::fabs(value) < 0x1p-126) {
    // Subnormal: multiples of 2^-133, which this sum cannot keep more finely.
    const double anchor = std::copysign(0x1.8p-81, value);
    return std::copysign(std::fabs((value + anchor) - anchor), value);
  }
  if (!std::isfinite(value)) return value;
  constexpr int kDropped = 52 - 7;
  std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  bits += (std::uint64_t{1} << (kDropped - 1)) - 1 + ((bits >> kDropped) & 1);
  bits &= ~((std::uint64_t{1} << kDropped) - 1);
  const double rounded = std::bit_cast<double>(bits);
  return std::fabs(rounded) > kBf16Max
             ? std::copysign(std::numeric_limits<double>::infinity(), value)
             : rounded;
}

inline std::uint16_t DoubleToBf16(double value) {
  return FloatToBf16(static_cast<float>(RoundToBf16(value)));
}

// As DoubleToBf16 after clamping to the finite range; NaN stays NaN.
inline std::uint16_t DoubleToBf16Saturated(double value) {
  if (std::isnan(value)) return kBf16Nan;
  return DoubleToBf16(value > kBf16Max ? kBf16Max : value < -kBf16Max ? -kBf16Max : value);
}

}  // namespace assay
