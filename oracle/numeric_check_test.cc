#include "oracle/numeric_check.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

#include "oracle/numeric_case.h"

namespace assay {
namespace {

using Evidence = std::vector<std::pair<std::string, std::string>>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<Finding> Check(const NumericCase& c, const std::vector<StageResult>& stages = {}) {
  return CheckNumeric(c.context(), c.run, c.expected, JudgeOutput(c.run.output, c.expected),
                      stages);
}

TEST(NumericCheck, PassesOutputsInsideTheirIntervals) {
  NumericCase c(1);
  c.run.output[70] += 1;
  const NumericResult result = JudgeOutput(c.run.output, c.expected);
  EXPECT_EQ(result.judged, 128);
  EXPECT_EQ(result.wrong, 0);
  EXPECT_EQ(result.worst, 70);
  // One step off, room one step and a half.
  EXPECT_DOUBLE_EQ(result.worst_margin, 2.0 / 3);
  EXPECT_TRUE(Check(c).empty());
}

TEST(NumericCheck, NamesTheFirstWrongElementWithItsBound) {
  NumericCase c(1);
  c.run.output[64 + 6] += 2;
  c.run.output[64 + 9] += 3;
  const auto findings = Check(c);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, "numeric");
  EXPECT_EQ(findings[0].error_class, "out_of_contract");
  // 0x3F80 + 70 = 1 + 70 / 128; a step is 1 / 128.
  EXPECT_EQ(findings[0].evidence,
            (Evidence{{"first", "token 1, column 6"},
                      {"expected", "[1.5390625, 1.5546875]"},
                      {"center", "1.546875"},
                      {"bound", "0.0078125"},
                      {"exact", "1.546875"},
                      {"got", "0x3fc8 (1.5625)"},
                      {"wrong", "2 of 128"},
                      {"worst_margin", "2 at token 1, column 9"},
                      {"stage", "unknown: the path does not show every intermediate"}}));
}

TEST(NumericCheck, LeavesUnwrittenElementsToTheirOwnCheck) {
  NumericCase c;
  c.run.output[3] = 0xFFFF;
  EXPECT_TRUE(Check(c).empty());
  EXPECT_EQ(JudgeOutput(c.run.output, c.expected).judged, 127);
  EXPECT_FALSE(Admits(c.run.output, c.expected));
}

TEST(NumericCheck, AdmitsNanOnlyWhereTheContractHasIt) {
  NumericCase c;
  c.run.output[3] = 0x7FFF;
  EXPECT_EQ(Check(c).at(0).error_class, "out_of_contract");
  EXPECT_EQ(JudgeOutput(c.run.output, c.expected).worst_margin,
            std::numeric_limits<double>::infinity());
  c.expected.stored[3] = {kNan, kNan, true};
  EXPECT_TRUE(Check(c).empty());
  c.run.output[3] = 0x3F80;  // a number where only NaN is right
  EXPECT_EQ(Check(c).size(), 1u);
}

TEST(NumericCheck, TakesMinusZeroForZero) {
  NumericCase c;
  c.Expect(0, 0.0, 0);
  c.run.output[0] = 0x8000;
  EXPECT_TRUE(Check(c).empty());
  c.run.output[0] = 0x8001;
  EXPECT_EQ(Check(c).size(), 1u);
}

TEST(NumericCheck, BlamesTheFirstStageThatLeftItsInterval) {
  NumericCase c;
  const auto p = c.scripted.layer.problem;
  c.expected.stages.gate.assign(p.Slots() * p.inter, {1, 2});
  c.expected.stages.up = c.expected.stages.gate;
  c.expected.stages.down.assign(p.Slots() * p.hidden, {1, 2});
  c.run.stages.gate.assign(p.Slots() * p.inter, 0x3F80);
  c.run.stages.up = c.run.stages.gate;
  c.run.stages.down.assign(p.Slots() * p.hidden, 0x3F80);
  c.run.launches = {{"gate_gemv", {}, 32, 0},
                    {"gate_up_batch3_t", {}, 32, 0},
                    {"silu_down_batch3_t", {}, 32, 0},
                    {"blend_batch3", {}, 32, 0}};
  c.run.output[0] += 9;
  const auto blame = [&] {
    return Check(c, JudgeStages(c.context(), c.run, c.router, c.expected.stages)).at(0);
  };
  EXPECT_EQ(EvidenceOf(blame(), "stage"), "blend");  // everything before the output is right
  EXPECT_EQ(blame().kernel, "blend_batch3");
  c.run.stages.down[2 * p.hidden + 5] = 0;
  c.run.stages.down[2 * p.hidden + 6] = 0;
  EXPECT_EQ(EvidenceOf(blame(), "stage"), "down");
  EXPECT_EQ(blame().kernel, "silu_down_batch3_t");
  EXPECT_EQ(EvidenceOf(blame(), "stage_down"),
            "down: 2 of 256 wrong, first token 1 slot 0 (expert 1), row 5: expected [1, 2], got 0");
  EXPECT_EQ(EvidenceOf(blame(), "stage_up"), "up: 128 elements within the contract");
  c.run.stages.up[p.inter + 1] = 0xFFFF;
  EXPECT_EQ(EvidenceOf(blame(), "stage"), "up");
  EXPECT_EQ(blame().kernel, "gate_up_batch3_t");
}

TEST(NumericCheck, ReportsAStageThatTheOutputHides) {
  NumericCase c;
  const auto p = c.scripted.layer.problem;
  c.expected.stages.gate.assign(p.Slots() * p.inter, {1, 2});
  c.run.stages.gate.assign(p.Slots() * p.inter, 0x3F80);
  c.run.stages.gate[40] = 0x4040;  // 3
  const auto findings = Check(c, JudgeStages(c.context(), c.run, c.router, c.expected.stages));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "stage_out_of_contract");
  EXPECT_EQ(EvidenceOf(findings[0], "first"), "token 0 slot 1 (expert 1), row 8");
  EXPECT_EQ(EvidenceOf(findings[0], "expected"), "[1, 2]");
  EXPECT_EQ(EvidenceOf(findings[0], "got"), "0x4040 (3)");
}

TEST(NumericCheck, DoesNotJudgeAStageOfAnotherExtent) {
  NumericCase c;
  c.expected.stages.gate.assign(128, {1, 2});
  c.run.stages.gate.assign(64, 0);  // one token's scratch, reused
  EXPECT_TRUE(JudgeStages(c.context(), c.run, c.router, c.expected.stages).empty());
}

RC_GTEST_PROP(NumericCheck, FindsAnySingleElementPastItsLastAdmissibleStep, ()) {
  const int steps = *rc::gen::inRange(0, 4);
  NumericCase c(steps);
  const auto at = *rc::gen::inRange<std::size_t>(0, 128);
  const int off = *rc::gen::element(-1, 1) * *rc::gen::inRange(1, 8);
  c.run.output[at] = static_cast<std::uint16_t>(c.run.output[at] + off);
  const NumericResult result = JudgeOutput(c.run.output, c.expected);
  RC_ASSERT((result.wrong == 1) == (std::abs(off) > steps));
  RC_ASSERT((result.worst_margin > 1) == (std::abs(off) > steps));
  if (result.wrong == 1) RC_ASSERT(result.first == static_cast<std::int64_t>(at));
}

}  // namespace
}  // namespace assay
