#include "oracle/bf16_value.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(Bf16Steps, AreTheDistancesToTheNeighbours) {
  EXPECT_EQ(StepAbove(1.0), 0x1p-7);
  EXPECT_EQ(StepBelow(1.0), 0x1p-8);  // below a power of two the grid is twice as fine
  EXPECT_EQ(StepAbove(-1.0), 0x1p-8);
  EXPECT_EQ(StepBelow(-1.0), 0x1p-7);
  EXPECT_EQ(StepAbove(0.0), 0x1p-133);
  EXPECT_EQ(StepAbove(-0.0), 0x1p-133);
  EXPECT_EQ(StepAbove(-0x1p-133), 0x1p-133);
}

TEST(Bf16Steps, AtTheLargestNumberIsTheStepBelowIt) { EXPECT_EQ(StepAbove(kBf16Max), 0x1p120); }

TEST(Margin, IsOneHalfStepPastTheEndAtTheMost) {
  // center 1, admissible [1, 1]: room is half a step up, and the value sits at the centre.
  EXPECT_EQ(Margin(1.0, 1.0, {1.0, 1.0}), 0);
  // One step up of 2^-7 over a room of 2^-8.
  EXPECT_EQ(Margin(1.0 + 0x1p-7, 1.0, {1.0, 1.0}), 2);
  // One step down of 2^-8 over a room of 2^-9.
  EXPECT_EQ(Margin(1.0 - 0x1p-8, 1.0, {1.0, 1.0}), 2);
}

TEST(Margin, CountsNanAndInfinityAsRightOnlyWhereAdmissible) {
  EXPECT_EQ(Margin(kNan, 0, {-1, 1}), kInfinity);
  EXPECT_EQ(Margin(kInfinity, 0, {-1, 1}), kInfinity);
  EXPECT_EQ(Margin(kNan, kNan, {kNan, kNan, true}), 0);
  EXPECT_EQ(Margin(1.0, kNan, {kNan, kNan, true}), kInfinity);
  EXPECT_EQ(Margin(kNan, 0, {-kInfinity, kInfinity, true}), 0);
}

TEST(Margin, TakesMinusZeroForZero) {
  EXPECT_EQ(Margin(-0.0, 0.0, {0.0, 0.0}), 0);
  EXPECT_EQ(Margin(0.0, -0.0, {-0.0, -0.0}), 0);
}

RC_GTEST_PROP(Margin, IsAtMostOneExactlyWhereTheIntervalHoldsTheValue, ()) {
  // Finite BF16 codes of either sign; the centre is a real that rounds into the interval.
  const auto finite = rc::gen::map(rc::gen::inRange(-0x7F7F, 0x7F80), [](int code) {
    return code < 0 ? -ValueOfBf16(static_cast<std::uint16_t>(-code))
                    : ValueOfBf16(static_cast<std::uint16_t>(code));
  });
  const double a = *finite, b = *finite, value = *finite;
  const Interval stored{std::min(a, b), std::max(a, b)};
  const double part = *rc::gen::inRange(0, 1001) / 1000.0;
  const Interval reals = BeforeLastRounding(stored);
  // Strictly inside the reals that round into the interval: no half step is a tie here.
  const double center = reals.low + (reals.high - reals.low) * (0.001 + 0.998 * part);
  RC_PRE(std::isfinite(center));
  RC_ASSERT((Margin(value, center, stored) <= 1) == stored.Holds(value));
}

}  // namespace
}  // namespace assay
