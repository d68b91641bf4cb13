#include "oracle/unwritten_check.h"

#include <gtest/gtest.h>

#include <bit>

#include "oracle/scripted_case.h"

namespace assay {
namespace {

TEST(UnwrittenCheck, PassesACompleteRun) {
  const ScriptedCase c = MakeScriptedCase();
  EXPECT_TRUE(CheckUnwritten(c.context(), MakeScriptedRun(c.layer.problem)).empty());
}

TEST(UnwrittenCheck, NamesTheFirstOutputElementAndCountsThem) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = MakeScriptedRun(c.layer.problem);
  for (int column = 60; column < 64; ++column) run.output[64 + column] = 0xFFFF;
  const auto findings = CheckUnwritten(c.context(), run);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, "unwritten");
  EXPECT_EQ(findings[0].error_class, "output_unwritten");
  EXPECT_EQ(findings[0].evidence,
            (std::vector<std::pair<std::string, std::string>>{
                {"tensor", "output"}, {"first", "token 1, column 60"}, {"unwritten", "4 of 128"}}));
}

TEST(UnwrittenCheck, DoesNotTakeAComputedNanForAnUnwrittenElement) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = MakeScriptedRun(c.layer.problem);
  run.output[5] = 0x7FFF;
  EXPECT_TRUE(CheckUnwritten(c.context(), run).empty());
}

TEST(UnwrittenCheck, FindsIdsAndWeightsThatStillHoldThePoison) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = MakeScriptedRun(c.layer.problem);
  run.ids[3] = 0xFFFFFFFFu;
  run.weights[2] = std::bit_cast<float>(0xFFFFFFFFu);
  const auto findings = CheckUnwritten(c.context(), run);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].error_class, "ids_unwritten");
  EXPECT_EQ(EvidenceOf(findings[0], "first"), "token 1, slot 1");
  EXPECT_EQ(findings[1].error_class, "weights_unwritten");
  EXPECT_EQ(EvidenceOf(findings[1], "first"), "token 1, slot 0");
}

}  // namespace
}  // namespace assay
