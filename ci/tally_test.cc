#include "ci/tally.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using Lines = std::vector<std::string>;

Verdict Of(Outcome outcome, const std::string& reason = "") {
  Verdict verdict;
  verdict.outcome = outcome;
  verdict.reason = reason;
  return verdict;
}

Verdict FailedBy(const std::string& check) {
  Verdict verdict = Of(Outcome::kFailed);
  verdict.findings.emplace_back().check = check;
  return verdict;
}

TEST(TallyTest, ASingleRefusalHasItsOwnLineAndExitCode) {
  Tally tally;
  tally.Add(Of(Outcome::kRefused, "rows"));
  EXPECT_EQ(tally.Lines(), Lines{"1 passed (1 refused), 0 failed, 0 skipped"});
  EXPECT_EQ(tally.Exit(), ExitCode::kNothingJudged);
}

TEST(TallyTest, RefusalsCountAsPassedAndAreSaidApart) {
  Tally tally;
  tally.Add(Of(Outcome::kRefused, "rows"));
  tally.Add(Of(Outcome::kPassed));
  EXPECT_EQ(tally.Lines(),
            (Lines{"1 of the passed were refusals", "2 passed, 0 failed, 0 skipped"}));
  EXPECT_EQ(tally.Exit(), ExitCode::kPass);
  EXPECT_EQ(tally.refusals.at("rows"), 1);
}

TEST(TallyTest, NothingJudgedIsNoPass) {
  Tally tally;
  EXPECT_EQ(tally.Exit(), ExitCode::kNothingJudged);
  tally.Add(Of(Outcome::kSkipped, "no GPU"));
  tally.Add(Of(Outcome::kRefused, "rows"));
  tally.Add(Of(Outcome::kRefused, "rows"));
  EXPECT_EQ(tally.Exit(), ExitCode::kNothingJudged);
}

TEST(TallyTest, VacuousCountsAsSkippedWithItsReason) {
  Tally tally;
  tally.Add(Of(Outcome::kVacuous, "all outputs are zero"));
  EXPECT_EQ(tally.skipped, 1);
  EXPECT_EQ(tally.passed, 0);
  EXPECT_EQ(tally.skips.at("vacuous: all outputs are zero"), 1);
}

TEST(TallyTest, TheWorstClassOfFailureIsTheExitCode) {
  Tally tally;
  tally.Add(FailedBy("numeric"));
  EXPECT_EQ(tally.Exit(), ExitCode::kWrongResult);
  tally.Add(FailedBy("memory"));
  tally.Add(FailedBy("routing"));
  EXPECT_EQ(tally.Exit(), ExitCode::kMemory);
  EXPECT_EQ(tally.failed, 3);
}

TEST(TallyTest, AFailureWithoutFindingsIsStillAFailure) {
  Tally tally;
  tally.Add(Of(Outcome::kFailed, "undeclared refusal"));
  EXPECT_EQ(tally.Exit(), ExitCode::kWrongResult);
}

TEST(TallyTest, SumsKeepCountsReasonsAndTheWorstClass) {
  Tally a, b;
  a.Add(FailedBy("memory"));
  a.Add(Of(Outcome::kSkipped, "x"));
  b.Add(Of(Outcome::kSkipped, "x"));
  b.Add(Of(Outcome::kRefused, "rows"));
  a += b;
  EXPECT_EQ(a.Lines().back(), "1 passed, 1 failed, 2 skipped");
  EXPECT_EQ(a.skips.at("x"), 2);
  EXPECT_EQ(a.Exit(), ExitCode::kMemory);
}

}  // namespace
}  // namespace assay
