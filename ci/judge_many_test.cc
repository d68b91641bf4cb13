#include "ci/judge_many.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::vector<Case> SomeCases() {
  std::vector<Case> cases;
  for (int seed = 0; seed < 9; ++seed) {
    cases.push_back(
        ParseCase("path=batched format=nvfp4 layout=row_major rows=1 hidden=32 inter=32 "
                  "experts=4 checks=fast seed=" +
                  std::to_string(seed)));
  }
  return cases;
}

TEST(JudgeManyTest, VerdictsStandInTheOrderOfTheCasesForAnyNumberOfWorkers) {
  const std::vector<Case> cases = SomeCases();
  std::vector<std::uint64_t> alone;
  for (const Case& c : cases) alone.push_back(RunCase(c).output_hash);
  for (int workers : {1, 2, 5}) {
    std::vector<std::uint64_t> hashes;
    for (const Verdict& verdict : JudgeMany(cases, workers)) hashes.push_back(verdict.output_hash);
    EXPECT_EQ(hashes, alone) << workers;
  }
}

TEST(JudgeManyTest, WhatAStopLeavesOutIsSkippedNotPassed) {
  int done = 0;
  const std::vector<Verdict> verdicts = JudgeMany(
      SomeCases(), 1, [&](const Verdict&) { ++done; }, [&] { return done >= 2; });
  ASSERT_EQ(verdicts.size(), 9u);
  EXPECT_EQ(verdicts[1].outcome, Outcome::kPassed);
  EXPECT_EQ(verdicts[2].outcome, Outcome::kSkipped);
  EXPECT_EQ(verdicts[8].reason, "interrupted");
}

TEST(JudgeManyTest, AnExceptionOfACaseComesOut) {
  EXPECT_THROW(
      JudgeMany(SomeCases(), 2, [](const Verdict&) { throw std::logic_error("of a case"); }),
      std::logic_error);
}

TEST(JudgeManyTest, NoCasesNoVerdicts) { EXPECT_TRUE(JudgeMany({}, 0).empty()); }

}  // namespace
}  // namespace assay
