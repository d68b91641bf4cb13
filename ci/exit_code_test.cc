#include "ci/exit_code.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

Finding Of(const std::string& check) {
  Finding finding;
  finding.check = check;
  return finding;
}

TEST(ExitCodeTest, MemoryFindingsAreTheirOwnClass) {
  EXPECT_EQ(ClassOf("memory"), ExitCode::kMemory);
  for (const char* check : {"ownership", "numeric", "unwritten", "poison", "repeat", "routing"}) {
    EXPECT_EQ(ClassOf(check), ExitCode::kWrongResult) << check;
  }
}

TEST(ExitCodeTest, FourWinsOverOneAndOneOverThree) {
  EXPECT_EQ(Worse(ExitCode::kMemory, ExitCode::kWrongResult), ExitCode::kMemory);
  EXPECT_EQ(Worse(ExitCode::kWrongResult, ExitCode::kMemory), ExitCode::kMemory);
  EXPECT_EQ(Worse(ExitCode::kPerformance, ExitCode::kWrongResult), ExitCode::kWrongResult);
  EXPECT_EQ(Worse(ExitCode::kPass, ExitCode::kPerformance), ExitCode::kPerformance);
}

TEST(ExitCodeTest, AFaultOfTheHarnessWinsOverAll) {
  for (ExitCode code :
       {ExitCode::kPass, ExitCode::kWrongResult, ExitCode::kUsage, ExitCode::kPerformance,
        ExitCode::kMemory, ExitCode::kUnfit, ExitCode::kNothingJudged}) {
    EXPECT_EQ(Worse(code, ExitCode::kHarnessFault), ExitCode::kHarnessFault);
    EXPECT_EQ(Worse(ExitCode::kHarnessFault, code), ExitCode::kHarnessFault);
  }
}

TEST(ExitCodeTest, TheWorstFindingDecides) {
  EXPECT_EQ(WorstOf({}), ExitCode::kPass);
  EXPECT_EQ(WorstOf({Of("numeric")}), ExitCode::kWrongResult);
  EXPECT_EQ(WorstOf({Of("numeric"), Of("memory"), Of("ownership")}), ExitCode::kMemory);
}

}  // namespace
}  // namespace assay
