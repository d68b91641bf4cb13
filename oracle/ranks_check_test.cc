#include "oracle/ranks_check.h"

#include <gtest/gtest.h>

#include "oracle/scripted_case.h"

namespace assay {
namespace {

TEST(RanksCheck, PassesRanksThatAgree) {
  const ScriptedCase scripted = MakeScriptedCase();
  EXPECT_TRUE(CheckRanks(scripted.context(), MakeScriptedRun(scripted.layer.problem)).empty());
}

TEST(RanksCheck, NamesTheRankAndWhatItLeftOtherwise) {
  const ScriptedCase scripted = MakeScriptedCase();
  RunRecord run = MakeScriptedRun(scripted.layer.problem);
  run.rank_differences = {{1, "output", 17}, {2, "ids", 0}};
  const auto findings = CheckRanks(scripted.context(), run);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, "ranks");
  EXPECT_NE(findings[0].summary.find("rank 1"), std::string::npos) << findings[0].summary;
  EXPECT_NE(findings[0].summary.find("output"), std::string::npos);
  EXPECT_NE(findings[0].summary.find("17"), std::string::npos);
}

}  // namespace
}  // namespace assay
