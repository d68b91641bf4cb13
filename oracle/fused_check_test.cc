#include "oracle/fused_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "oracle/numeric_case.h"

namespace assay {
namespace {

// P(F > f) for F(2a, 2a), a a whole number: the incomplete beta function as a binomial sum.
double TailOfF(int a, double f) {
  const double x = 1 / (1 + f);
  const int n = 2 * a - 1;
  double tail = 0;
  for (int j = a; j <= n; ++j)
    tail += std::exp(std::lgamma(n + 1.0) - std::lgamma(j + 1.0) - std::lgamma(n - j + 1.0) +
                     j * std::log(x) + (n - j) * std::log1p(-x));
  return tail;
}

TEST(RatioLimit, IsPassedByChanceLessThanOnceInAMillion) {
  for (const int a : {1, 2, 3, 4, 6, 8, 16, 32, 100, 256, 1000, 4000}) {
    const double limit = RatioLimit(2 * a);
    EXPECT_LE(TailOfF(a, limit * limit), 1e-6) << "freedom " << 2 * a;
    // And it is no looser than a twentieth of that chance asks for: it can fail.
    EXPECT_GE(TailOfF(a, limit * limit), 5e-8) << "freedom " << 2 * a;
  }
}

TEST(RatioLimit, TightensWithTheNumberOfElements) {
  EXPECT_NEAR(RatioLimit(1000), 1.16, 0.005);
  EXPECT_NEAR(RatioLimit(256), 1.35, 0.005);
}

// Exact values spread over the reals between 1 and 2, tokens times 1,024 columns.
struct FusedCase {
  ScriptedCase scripted = MakeScriptedCase();
  RunRecord path, fallback;
  OutputExpected expected;

  FusedCase() {
    Problem& p = scripted.layer.problem;
    p.hidden = 1024;
    const int count = p.rows * p.hidden;
    scripted.layer.input.resize(count);
    for (int i = 0; i < count; ++i) scripted.layer.input[i] = static_cast<std::uint16_t>(i);
    path = fallback = MakeScriptedRun(p);
    for (int i = 0; i < count; ++i) {
      // Multiples of the golden ratio: equally spread, so the rounding errors are too.
      const double exact = 1 + std::fmod(i * 0.6180339887498949, 1.0);
      expected.exact.push_back(exact);
      expected.center.push_back(exact);
      expected.error.push_back(0x1p-8);
      expected.stored.push_back({RoundToBf16(exact - 0x1p-8), RoundToBf16(exact + 0x1p-8)});
      path.output[i] = fallback.output[i] = DoubleToBf16(exact);
    }
  }
  FusedResult Check() const {
    return CheckFused(scripted.context(), path, expected, fallback, expected);
  }
};

TEST(FusedCheck, PassesAPathAsAccurateAsItsFallback) {
  const FusedResult result = FusedCase().Check();
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.not_judged, "");
  // Not exactly 1: the floor is that of generic data, a rounding up to 2 counts the step above 2.
  EXPECT_NEAR(result.ratio, 1, 0.01);
}

TEST(FusedCheck, PassesOtherLastBitsOfTheSameAccuracy) {
  FusedCase c;
  // Every 50th element takes the neighbour beyond the exact value, as a flipped rounding does.
  for (std::size_t i = 0; i < c.path.output.size(); i += 50)
    c.path.output[i] += ValueOfBf16(c.path.output[i]) < c.expected.exact[i] ? 1 : -1;
  EXPECT_TRUE(c.Check().findings.empty());
}

TEST(FusedCheck, FindsTruncationByItsSizeAndByItsSign) {
  FusedCase c;
  for (std::size_t i = 0; i < c.path.output.size(); ++i)
    if (ValueOfBf16(c.path.output[i]) > c.expected.exact[i]) --c.path.output[i];
  const auto findings = c.Check().findings;
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].check, "fused");
  EXPECT_EQ(findings[0].error_class, "less_accurate");
  // Uniform over a step against uniform over half a step to either side: rms ratio 2, and a mean of
  // half a step is sqrt(3) of the fallback's rms. 2,048 spread points meet both within 1 %.
  EXPECT_NEAR(std::stod(EvidenceOf(findings[0], "rms_ratio")), 2, 0.02);
  EXPECT_EQ(EvidenceOf(findings[0], "independent_elements"), "512");
  EXPECT_EQ(EvidenceOf(findings[0], "elements"), "2048");
  EXPECT_EQ(EvidenceOf(findings[0], "fallback_contract"), "met");
  EXPECT_EQ(findings[1].error_class, "biased");
  EXPECT_NEAR(std::stod(EvidenceOf(findings[1], "mean_error")), -std::sqrt(3), 0.02);
}

TEST(FusedCheck, FindsABiasTooSmallForTheRatio) {
  FusedCase c;
  // One element in ten a step up: the mean moves by a tenth of a step, sqrt(12) / 10 of the rms
  // (0.35, room 0.22), while the rms grows by about sqrt(1 + 1.2) at the most.
  for (std::size_t i = 0; i < c.path.output.size(); i += 10)
    if (ValueOfBf16(c.path.output[i]) < c.expected.exact[i] + 0x1p-9) ++c.path.output[i];
  bool biased = false;
  for (const Finding& finding : c.Check().findings) biased |= finding.error_class == "biased";
  EXPECT_TRUE(biased);
}

TEST(FusedCheck, DoesNotMeasureAgainstAFallbackThatHappensToBeExact) {
  FusedCase c;
  for (std::size_t i = 0; i < c.path.output.size(); ++i)
    c.expected.exact[i] = c.expected.center[i] = ValueOfBf16(c.fallback.output[i]);
  EXPECT_EQ(c.Check().ratio, 0);
  // A few flips beside an error of zero are not "infinitely worse": the floor is ulp / sqrt(12).
  c.path.output[7] += 1;
  c.path.output[900] -= 1;
  const FusedResult result = c.Check();
  EXPECT_TRUE(result.findings.empty());
  EXPECT_NEAR(result.ratio, std::sqrt(12.0 * 2 / 2048), 1e-3);
}

TEST(FusedCheck, StillFindsAWrongPathBesideAnExactFallback) {
  FusedCase c;
  for (std::size_t i = 0; i < c.path.output.size(); ++i) {
    c.expected.exact[i] = c.expected.center[i] = ValueOfBf16(c.fallback.output[i]);
    c.path.output[i] += i % 2 == 0 ? 1 : -1;
  }
  EXPECT_EQ(c.Check().findings.at(0).error_class, "less_accurate");
}

TEST(FusedCheck, AcceptsOutputsThatAreAllZero) {
  FusedCase c;
  for (std::size_t i = 0; i < c.path.output.size(); ++i) {
    c.expected.exact[i] = c.expected.center[i] = 0;
    c.expected.stored[i] = {0, 0};
    c.path.output[i] = c.fallback.output[i] = i % 2 ? 0x8000 : 0;
  }
  EXPECT_TRUE(c.Check().findings.empty());
}

TEST(FusedCheck, CountsRepeatedTokensOnce) {
  FusedCase c;
  auto& input = c.scripted.layer.input;
  std::copy_n(input.begin(), 1024, input.begin() + 1024);
  for (auto& bits : c.path.output) bits += 3;
  EXPECT_EQ(EvidenceOf(c.Check().findings.at(0), "independent_elements"), "256");
}

TEST(FusedCheck, SaysSoWhenNothingIsFinite) {
  FusedCase c;
  for (auto& bits : c.path.output) bits = 0x7FFF;
  const FusedResult result = c.Check();
  EXPECT_TRUE(result.findings.empty());  // the numeric check reports the NaN
  EXPECT_NE(result.not_judged, "");
}

TEST(FusedCheck, NotesAFallbackThatBreaksTheContractItself) {
  FusedCase c;
  c.fallback.output[0] += 5;
  for (auto& bits : c.path.output) bits += 3;
  EXPECT_EQ(EvidenceOf(c.Check().findings.at(0), "fallback_contract"),
            "broken by the fallback itself: 1 of 2048 outside");
}

TEST(SameLogits, FindsOneBitAndPassesEqualOnes) {
  FusedCase c;
  c.path.stages.logits = c.fallback.stages.logits = std::vector<std::uint16_t>(16, 0x3F80);
  EXPECT_TRUE(CheckSameLogits(c.scripted.context(), c.path, c.fallback).empty());
  c.path.stages.logits[9] ^= 1;
  const auto findings = CheckSameLogits(c.scripted.context(), c.path, c.fallback);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "logits_differ");
  EXPECT_EQ(EvidenceOf(findings[0], "first"), "token 1, expert 1");
  EXPECT_EQ(EvidenceOf(findings[0], "different"), "1 of 16");
}

TEST(SameLogits, ComparesFp32LogitsToo) {
  FusedCase c;
  c.path.stages.logits_fp32 = {1, 2};
  c.fallback.stages.logits_fp32 = {1, 2.0000002f};
  EXPECT_EQ(CheckSameLogits(c.scripted.context(), c.path, c.fallback).size(), 1u);
}

TEST(FusedCheck, HasNoOpinionOnAHandfulOfElements) {
  // One element: a ratio of one million is still chance.
  EXPECT_GT(RatioLimit(0.25), 1e6);
}

TEST(FallbackBits, OfAPathThatPromisesThemAreComparedToTheLast) {
  const ScriptedCase c = MakeScriptedCase();
  const RunRecord fallback = MakeScriptedRun(c.layer.problem);
  RunRecord path = fallback;
  EXPECT_TRUE(CheckFallbackBits(c.context(), path, fallback).empty());
  path.output[67] ^= 1;
  const auto findings = CheckFallbackBits(c.context(), path, fallback);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, "fused");
  EXPECT_EQ(findings[0].error_class, "bits_differ");
  EXPECT_NE(findings[0].summary.find("token 1, column 3"), std::string::npos)
      << findings[0].summary;
}

TEST(FallbackBits, ShowAWeightThatTheOutputHides) {
  const ScriptedCase c = MakeScriptedCase();
  const RunRecord fallback = MakeScriptedRun(c.layer.problem);
  RunRecord path = fallback;
  path.weights[2] = 0.25f;
  ASSERT_EQ(CheckFallbackBits(c.context(), path, fallback).size(), 1u);
}

}  // namespace
}  // namespace assay
