#include "gpu/kernels/numeric.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

// Spacing of floats at the magnitude of `value`, subnormals included.
long double Ulp(long double value) {
  return std::ldexp(1.0L, std::max(std::ilogb(value), -126) - 23);
}

struct Range {
  std::uint32_t first_bits, last_bits, stride;
};

template <class Function, class Exact>
long double WorstUlpError(const Range& range, const Function& function, const Exact& real) {
  long double worst = 0;
  for (std::int64_t bits = range.first_bits; bits <= range.last_bits; bits += range.stride) {
    const float x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const long double exact = real(static_cast<long double>(x));
    if (exact > std::numeric_limits<float>::max()) continue;
    worst = std::max(worst, std::fabs(function(x) - exact) / Ulp(exact));
  }
  return worst;
}
long double WorstExp(const Range& range) {
  return WorstUlpError(
      range, [](float x) { return Exp(x); }, [](long double x) { return std::exp(x); });
}

// The bound that the reference's derivations use; every 4,099th float here, all of them once by
// hand.
TEST(Exp, ErrsByLessThanOneUlp) {
  EXPECT_LE(WorstExp({0, std::bit_cast<std::uint32_t>(88.8f), 4099}), 1.0L);
  EXPECT_LE(WorstExp({0x80000000u, std::bit_cast<std::uint32_t>(-104.5f), 4099}), 1.0L);
}

TEST(Log1p, ErrsByLessThanTwoUlpBetweenZeroAndOne) {
  const auto real = [](long double x) { return std::log1p(x); };
  const auto ours = [](float x) { return Log1p(x); };
  EXPECT_LE(WorstUlpError({0, std::bit_cast<std::uint32_t>(1.0f), 4099}, ours, real), 2.0L);
  EXPECT_EQ(Log1p(0.0f), 0.0f);
}

TEST(Softplus, NeitherOverflowsNorLosesSmallResults) {
  EXPECT_EQ(Softplus(1000.0f), 1000.0f);
  EXPECT_GT(Softplus(-80.0f), 0.0f);
  EXPECT_FLOAT_EQ(Softplus(-20.0f), 2.0611536e-9f);
  EXPECT_FLOAT_EQ(Softplus(0.0f), 0.6931472f);
}

TEST(Exp, HoldsAtItsEdges) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(Exp(0.0f), 1.0f);
  EXPECT_EQ(Exp(-infinity), 0.0f);
  EXPECT_EQ(Exp(infinity), infinity);
  EXPECT_EQ(Exp(88.73f), infinity);
  EXPECT_TRUE(std::isnan(Exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Silu, HasItsLimits) {
  EXPECT_EQ(Silu(0.0f), 0.0f);
  EXPECT_EQ(Silu(40.0f), 40.0f);
  EXPECT_EQ(Silu(-200.0f), -0.0f);
}

TEST(Bf16, RoundsTiesToEvenAndStoresOneNan) {
  EXPECT_EQ(Bf16::Round(0x1.01p+0f).bits, 0x3F80);  // 1 + 2^-8: tie, even below
  EXPECT_EQ(Bf16::Round(0x1.03p+0f).bits, 0x3F82);  // tie, even above
  EXPECT_EQ(Bf16::Round(std::numeric_limits<float>::quiet_NaN()).bits, 0x7FFF);
  EXPECT_EQ(Bf16::Round(-std::numeric_limits<float>::quiet_NaN()).bits, 0x7FFF);
  EXPECT_EQ(Bf16::Round(std::numeric_limits<float>::max()).bits, 0x7F80);
}

TEST(E8m0, DiffersFromTheStandardInTwoCodesOnly) {
  for (int code = 1; code < 255; ++code)
    EXPECT_EQ(DecodeE8m0Production(code), DecodeE8m0Standard(code)) << code;
  EXPECT_EQ(DecodeE8m0Production(0), 0.0f);
  EXPECT_EQ(DecodeE8m0Production(255), 0.0f);
  EXPECT_EQ(DecodeE8m0Standard(0), 0x1p-127f);
  EXPECT_TRUE(std::isnan(DecodeE8m0Standard(255)));
}

}  // namespace
}  // namespace assay
