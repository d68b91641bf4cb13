#include "reference/small_float.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "reference/bf16.h"
#include "reference/e2m1.h"
#include "reference/e4m3.h"
#include "reference/e8m0.h"

namespace assay {
namespace {

// An independent decoder: assembles the bits of an IEEE number from the fields, with no arithmetic
// on the value but the one for subnormals.
double DecodeByBits(int code, int exponent_bits, int mantissa_bits, int bias) {
  const int mantissa = code & ((1 << mantissa_bits) - 1);
  const int exponent = (code >> mantissa_bits) & ((1 << exponent_bits) - 1);
  const int sign = (code >> (mantissa_bits + exponent_bits)) & 1;
  if (exponent == 0) return std::ldexp(sign ? -mantissa : mantissa, 1 - bias - mantissa_bits);
  const std::uint64_t bits = std::uint64_t(sign) << 63 |
                             std::uint64_t(exponent - bias + 1023) << 52 |
                             std::uint64_t(mantissa) << (52 - mantissa_bits);
  return std::bit_cast<double>(bits);
}

template <class Codec>
void ExpectFiniteCodesDecodeAs(int exponent_bits, int mantissa_bits, int bias) {
  int finite = 0;
  for (int code = 0; code < Codec::kCodes; ++code) {
    if (!std::isfinite(Codec::Decode(code))) continue;
    ++finite;
    EXPECT_EQ(Codec::Decode(code), DecodeByBits(code, exponent_bits, mantissa_bits, bias)) << code;
  }
  EXPECT_EQ(finite, 2 * (Codec::kMaxCode + 1));
}

template <class Codec>
void ExpectFiniteCodesSurviveARoundTrip() {
  for (int code = 0; code < Codec::kCodes; ++code) {
    const double value = Codec::Decode(code);
    if (!std::isfinite(value)) continue;
    const int back = Codec::Encode(value);
    EXPECT_EQ(Codec::Decode(back), value);
    EXPECT_TRUE(back == code || (value == 0 && code == Codec::kSignBit)) << code;
  }
}

// Every midpoint goes to the even code, a step beside it to the nearer one.
template <class Codec>
void ExpectTiesGoToTheEvenCode() {
  for (int code = 0; code < Codec::kMaxCode; ++code) {
    const double middle = (Codec::Decode(code) + Codec::Decode(code + 1)) / 2;
    EXPECT_EQ(Codec::Encode(middle) % 2, 0) << code;
    EXPECT_EQ(Codec::Encode(std::nextafter(middle, 0)), code);
    EXPECT_EQ(Codec::Encode(std::nextafter(middle, HUGE_VAL)), code + 1);
  }
}

TEST(SmallFloat, BothDecodersAgreeOnEveryCode) {
  ExpectFiniteCodesDecodeAs<E2m1>(2, 1, 1);
  ExpectFiniteCodesDecodeAs<E2m3>(2, 3, 1);
  ExpectFiniteCodesDecodeAs<E3m2>(3, 2, 3);
  ExpectFiniteCodesDecodeAs<E4m3>(4, 3, 7);
  ExpectFiniteCodesDecodeAs<E5m2>(5, 2, 15);
  ExpectFiniteCodesDecodeAs<Fp16>(5, 10, 15);
}

TEST(SmallFloat, EveryFiniteCodeSurvivesARoundTrip) {
  ExpectFiniteCodesSurviveARoundTrip<E2m1>();
  ExpectFiniteCodesSurviveARoundTrip<E2m3>();
  ExpectFiniteCodesSurviveARoundTrip<E3m2>();
  ExpectFiniteCodesSurviveARoundTrip<E4m3>();
  ExpectFiniteCodesSurviveARoundTrip<E5m2>();
  ExpectFiniteCodesSurviveARoundTrip<Fp16>();
}

TEST(SmallFloat, TiesGoToTheEvenCode) {
  ExpectTiesGoToTheEvenCode<E2m1>();
  ExpectTiesGoToTheEvenCode<E2m3>();
  ExpectTiesGoToTheEvenCode<E3m2>();
  ExpectTiesGoToTheEvenCode<E4m3>();
  ExpectTiesGoToTheEvenCode<E5m2>();
  ExpectTiesGoToTheEvenCode<Fp16>();
}

TEST(E2m1, HoldsTheEightMagnitudesOfTheStandard) {
  const double magnitudes[] = {0, .5, 1, 1.5, 2, 3, 4, 6};
  for (int code = 0; code < 8; ++code) {
    EXPECT_EQ(kE2m1Values[code], magnitudes[code]);
    EXPECT_EQ(kE2m1Values[code | 8], -magnitudes[code]);
  }
  EXPECT_TRUE(std::signbit(kE2m1Values[8]));
}

TEST(E2m1, TheLowNibbleIsTheEvenColumn) {
  EXPECT_EQ(kE2m1Pairs[0x7A].even, -1);
  EXPECT_EQ(kE2m1Pairs[0x7A].odd, 6);
}

TEST(E4m3, SaturatesOrOverflowsToNan) {
  EXPECT_EQ(E4m3::Encode(464), 0x7E);  // the tie with the missing 480 goes to 448
  EXPECT_EQ(E4m3::Encode(std::nextafter(464, 500)), 0x7F);
  EXPECT_EQ(E4m3::Encode(-1e9), 0xFF);
  EXPECT_EQ(E4m3::EncodeSaturated(-1e9), 0xFE);
  EXPECT_TRUE(std::isnan(kE4m3Values[0x7F]) && std::isnan(kE4m3Values[0xFF]));
}

TEST(E5m2, OverflowsToInfinity) {
  EXPECT_EQ(E5m2::Encode(std::nextafter(61440, 0)), 0x7B);
  EXPECT_EQ(E5m2::Encode(61440), 0x7C);
  EXPECT_EQ(E5m2::EncodeSaturated(1e9), 0x7B);
  EXPECT_TRUE(std::isinf(E5m2::Decode(0x7C)));
}

TEST(E8m0, EveryCodeIsAPowerOfTwo) {
  for (int code = 0; code < 255; ++code) {
    EXPECT_EQ(DecodeE8m0(code, CodePolicy::kStandard), std::ldexp(1.0, code - 127));
    EXPECT_EQ(EncodeE8m0(std::ldexp(1.0f, code - 127)), code);
  }
}

TEST(E8m0, TheTwoPoliciesDifferInTwoCodesOnly) {
  EXPECT_EQ(DecodeE8m0(0, CodePolicy::kStandard), 0x1p-127f);
  EXPECT_TRUE(std::isnan(DecodeE8m0(255, CodePolicy::kStandard)));
  EXPECT_EQ(DecodeE8m0(0, CodePolicy::kProduction), 0.0f);
  EXPECT_EQ(DecodeE8m0(255, CodePolicy::kProduction), 0.0f);
  for (int code = 1; code < 255; ++code)
    EXPECT_EQ(DecodeE8m0(code, CodePolicy::kStandard), DecodeE8m0(code, CodePolicy::kProduction));
}

TEST(Bf16, EveryCodeSurvivesARoundTrip) {
  for (int code = 0; code < 0x10000; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    const float value = Bf16ToFloat(bits);
    const std::uint16_t expected = std::isnan(value) ? kBf16Nan : bits;
    EXPECT_EQ(FloatToBf16(value), expected);
    EXPECT_EQ(DoubleToBf16(value), expected);
  }
}

TEST(Bf16, TiesGoToTheEvenCodeFromFloatAndFromDouble) {
  for (int code = 0; code < 0x7F80; ++code) {
    const double low = Bf16ToFloat(static_cast<std::uint16_t>(code));
    const double high =
        code == 0x7F7F ? 0x1p128 : Bf16ToFloat(static_cast<std::uint16_t>(code + 1));
    const double middle = low + (high - low) / 2;
    const int even = code + code % 2;
    EXPECT_EQ(FloatToBf16(static_cast<float>(middle)), even);
    EXPECT_EQ(DoubleToBf16(middle), even);
    EXPECT_EQ(DoubleToBf16(std::nextafter(middle, 0)), code);
    EXPECT_EQ(DoubleToBf16(-std::nextafter(middle, HUGE_VAL)), (code + 1) | 0x8000);
  }
}

TEST(Bf16, SaturatesOrOverflowsToInfinity) {
  EXPECT_EQ(DoubleToBf16(0x1.FFp127), 0x7F80);
  EXPECT_EQ(DoubleToBf16Saturated(0x1.FFp127), 0x7F7F);
  EXPECT_EQ(DoubleToBf16Saturated(-HUGE_VAL), 0xFF7F);
  EXPECT_EQ(DoubleToBf16Saturated(std::nan("")), kBf16Nan);
}

TEST(Fp16, SaturatesOrOverflowsToInfinity) {
  EXPECT_EQ(Fp16::Encode(65520), 0x7C00);
  EXPECT_EQ(Fp16::Encode(std::nextafter(65520, 0)), 0x7BFF);
  EXPECT_EQ(Fp16::EncodeSaturated(-1e9), 0xFBFF);
}

TEST(Bf16, DoubleRoundsOnceNotTwice) {
  // Just above a midpoint of BF16, by less than FP32 can hold: through FP32 it would tie to even.
  const double value = 1 + 0x1p-8 + 0x1p-40;
  EXPECT_EQ(RoundToBf16(value), 1 + 0x1p-7);
  EXPECT_EQ(FloatToBf16(static_cast<float>(value)), 0x3F80);
}

}  // namespace
}  // namespace assay
