#include "oracle/power_check.h"

#include <gtest/gtest.h>

#include <limits>

#include "oracle/numeric_case.h"

namespace assay {
namespace {

PowerResult Measure(const NumericCase& c) { return MeasurePower(c.context(), c.run, c.expected); }

// An input that no output of the case is near to.
NumericCase WithOtherInput(int steps) {
  NumericCase c(steps);
  c.scripted.layer.input.assign(c.run.output.size(), 0xC100);  // -8
  return c;
}

TEST(PowerCheck, AcceptsACaseWhoseBoundsAreTight) {
  const PowerResult result = Measure(WithOtherInput(1));
  EXPECT_EQ(result.vacuous, "");
  // Values from 1 to 4, half width at most 1.5 steps of 1/64: all stand clear of three times that.
  EXPECT_EQ(result.powerful, 1);
}

TEST(PowerCheck, CallsACaseWithInflatedBoundsVacuous) {
  NumericCase c = WithOtherInput(1);
  // Half width 3/4 of the value: three times that is more than the value, but zero is outside.
  for (auto i = 0u; i < c.expected.stored.size(); ++i) {
    const double value = c.expected.center[i];
    c.expected.stored[i] = {RoundToBf16(value * 0.25), RoundToBf16(value * 1.75)};
  }
  const PowerResult result = Measure(c);
  EXPECT_EQ(result.powerful, 0);
  EXPECT_EQ(result.vacuous,
            "only 0 % of the outputs are larger than three times their bound, the floor is 50 %");
}

TEST(PowerCheck, PutsTheFloorAtOneHalf) {
  NumericCase c = WithOtherInput(1);
  const auto inflate = [&](std::size_t i) { c.expected.stored[i] = {0x1p-4, 8}; };
  for (std::size_t i = 0; i < 64; ++i) inflate(i);
  EXPECT_EQ(Measure(c).powerful, 0.5);
  EXPECT_EQ(Measure(c).vacuous, "");
  inflate(64);
  EXPECT_NE(Measure(c).vacuous, "");
}

TEST(PowerCheck, CallsACaseVacuousThatZerosWouldPass) {
  NumericCase c = WithOtherInput(1);
  for (auto& stored : c.expected.stored) stored = {-8, 8};
  EXPECT_EQ(Measure(c).vacuous, "the contract admits an output of zeros");
}

TEST(PowerCheck, CallsACaseVacuousThatTheInputWouldPass) {
  NumericCase c(1);
  c.scripted.layer.input = c.run.output;
  EXPECT_EQ(Measure(c).vacuous, "the contract admits the layer's input as its output");
}

TEST(PowerCheck, RejectsRotatedTokensWhereTheirReferencesDiffer) {
  EXPECT_EQ(Measure(WithOtherInput(0)).vacuous, "");
}

TEST(PowerCheck, DoesNotAskItOfTokensThatMustAgree) {
  NumericCase c = WithOtherInput(1);
  for (std::size_t i = 0; i < 64; ++i) {
    c.run.output[64 + i] = c.run.output[i];
    c.Expect(64 + i, ValueOfBf16(c.run.output[i]), 1);
  }
  EXPECT_EQ(Measure(c).vacuous, "");
}

TEST(PowerCheck, DoesNotCountElementsWithoutABound) {
  NumericCase c = WithOtherInput(1);
  const double infinity = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < 96; ++i) c.expected.stored[i] = {-infinity, infinity, true};
  EXPECT_EQ(Measure(c).powerful, 0.25);
}

}  // namespace
}  // namespace assay
