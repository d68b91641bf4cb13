// One codec for all small floating formats: exact decode, encode to nearest with ties to the even
// code. Source: OCP Microscaling Formats 1.0 (E2M1, E2M3, E3M2), OCP FP8 1.0 (E4M3, E5M2).
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

namespace assay {

// What the codes at the top of the range mean.
enum class Special {
  kNone,      // all codes are finite
  kNanOnly,   // the all-ones code is NaN, there is no infinity (E4M3)
  kInfinity,  // the last exponent holds infinity and NaN, as in IEEE 754
};

template <int kExponentBits, int kMantissaBits, int kBias, Special kSpecial>
struct SmallFloat {
  static constexpr int kMagnitudeCodes = 1 << (kExponentBits + kMantissaBits);
  static constexpr int kSignBit = kMagnitudeCodes;
  static constexpr int kCodes = 2 * kMagnitudeCodes;
  static constexpr int kInfinityCode = kMagnitudeCodes - (1 << kMantissaBits);
  static constexpr int kMaxCode = kSpecial == Special::kNone      ? kMagnitudeCodes - 1
                                  : kSpecial == Special::kNanOnly ? kMagnitudeCodes - 2
                                                                  : kInfinityCode - 1;
  static constexpr int kNanCode = kMagnitudeCodes - 1;

  // Value of a code as if every exponent were an ordinary one: also the overflow neighbour of the
  // largest number.
  static constexpr double Ordinary(int magnitude) {
    const int exponent = magnitude >> kMantissaBits;
    const int mantissa = magnitude & ((1 << kMantissaBits) - 1);
    const int significand = exponent == 0 ? mantissa : mantissa + (1 << kMantissaBits);
    double value = significand;
    int power = (exponent == 0 ? 1 : exponent) - kBias - kMantissaBits;
    for (; power > 0; --power) value *= 2;
    for (; power < 0; ++power) value /= 2;
    return value;
  }

  static constexpr double Decode(int code) {
    const int magnitude = code & (kMagnitudeCodes - 1);
    double value = Ordinary(magnitude);
    if (magnitude > kMaxCode)
      value = kSpecial == Special::kInfinity && magnitude == kInfinityCode
                  ? std::numeric_limits<double>::infinity()
                  : std::numeric_limits<double>::quiet_NaN();
    return (code & kSignBit) != 0 ? -value : value;
  }

  // Nearest, ties to even. Above the range: saturates in formats without special codes, else NaN
  // or infinity. NaN has no code in the former: zero is returned.
  static int Encode(double value) { return Sign(value) | Round(std::fabs(value)); }

  // As Encode after clamping to the finite range; NaN stays NaN.
  static int EncodeSaturated(double value) {
    const double max = Ordinary(kMaxCode);
    if (std::isnan(value)) return Encode(value);
    return Encode(value > max ? max : value < -max ? -max : value);
  }

 private:
  static int Sign(double value) { return std::signbit(value) ? kSignBit : 0; }

  static int Round(double magnitude) {
    if (std::isnan(magnitude)) return kSpecial == Special::kNone ? 0 : kNanCode;
    int code = 0;
    for (int step = kMagnitudeCodes / 2; step > 0; step /= 2)
      if (code + step <= kMaxCode && Ordinary(code + step) <= magnitude) code += step;
    return RoundUp(code, magnitude) ? Above(code) : code;
  }

  // Midpoints of neighbouring codes are exact in double.
  static bool RoundUp(int code, double magnitude) {
    const double middle = (Ordinary(code) + Ordinary(code + 1)) / 2;
    return magnitude > middle || (magnitude == middle && code % 2 == 1);
  }

  static int Above(int code) {
    if (code < kMaxCode) return code + 1;
    return kSpecial == Special::kNone      ? kMaxCode
           : kSpecial == Special::kNanOnly ? kNanCode
                                           : kInfinityCode;
  }
};

using E2m1 = SmallFloat<2, 1, 1, Special::kNone>;
using E2m3 = SmallFloat<2, 3, 1, Special::kNone>;
using E3m2 = SmallFloat<3, 2, 3, Special::kNone>;
using E4m3 = SmallFloat<4, 3, 7, Special::kNanOnly>;
using E5m2 = SmallFloat<5, 2, 15, Special::kInfinity>;
using Fp16 = SmallFloat<5, 10, 15, Special::kInfinity>;

// All values of a format, as floats (exact for every format above).
template <class Codec>
constexpr std::array<float, Codec::kCodes> DecodeTable() {
  std::array<float, Codec::kCodes> table{};
  for (int code = 0; code < Codec::kCodes; ++code)
    table[code] = static_cast<float>(Codec::Decode(code));
  return table;
}

}  // namespace assay
