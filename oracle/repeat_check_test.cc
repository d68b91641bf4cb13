#include "oracle/repeat_check.h"

#include <gtest/gtest.h>

#include "oracle/scripted_case.h"

namespace assay {
namespace {

using Evidence = std::vector<std::pair<std::string, std::string>>;

// What a path computes given the options and how often it ran before.
using Script = std::function<void(RunRecord&, const RunOptions&, int)>;

RepeatResult Judge(const Script& script, Checks level = Checks::kStandard, int* runs = nullptr) {
  const ScriptedCase c = MakeScriptedCase();
  int count = 0;
  const RunPath run = [&](const RunOptions& options) {
    RunRecord record = MakeScriptedRun(c.layer.problem);
    script(record, options, count++);
    return record;
  };
  const RunRecord checked = run({true, Poison::kOnes});
  RepeatResult result = CheckRepeats(c.context(), checked, run, level);
  if (runs != nullptr) *runs = count;
  return result;
}

TEST(RepeatCheck, PassesAPathThatAlwaysComputesTheSame) {
  int runs = 0;
  const RepeatResult result = Judge([](auto&, auto&, int) {}, Checks::kStandard, &runs);
  EXPECT_TRUE(result.findings.empty());
  EXPECT_TRUE(result.notes.empty());
  EXPECT_EQ(runs, 3);  // checked, shipped, other poison
}

TEST(RepeatCheck, RunsTheThirdPatternAtTheHighestLevel) {
  int runs = 0;
  Judge([](auto&, auto&, int) {}, Checks::kAll, &runs);
  EXPECT_EQ(runs, 4);
}

TEST(RepeatCheck, FindsPoisonThatReachesTheOutput) {
  const auto result = Judge([](RunRecord& run, const RunOptions& options, int) {
    if (options.poison == Poison::kRandom) run.output[64 + 3] = 0x3F81;
  });
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].check, "poison");
  EXPECT_EQ(result.findings[0].error_class, "influenced");
  EXPECT_EQ(result.findings[0].evidence, (Evidence{{"tensor", "output"},
                                                   {"first", "token 1, column 3"},
                                                   {"with_ones", "0x3f80 (1)"},
                                                   {"with_random", "0x3f81 (1.0078125)"},
                                                   {"different", "1 of 128"},
                                                   {"third_pattern", "zeros: as ones"}}));
}

TEST(RepeatCheck, FindsPoisonThatOnlyZerosShowAtTheHighestLevel) {
  const Script zeros = [](RunRecord& run, const RunOptions& options, int) {
    if (options.poison == Poison::kZeros) run.weights[1] = 0.25f;
  };
  EXPECT_TRUE(Judge(zeros).findings.empty());
  const auto result = Judge(zeros, Checks::kAll);
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(EvidenceOf(result.findings[0], "with_zeros"), "0x3e800000 (0.25)");
  EXPECT_EQ(EvidenceOf(result.findings[0], "third_pattern"), "random bytes: as ones");
}

TEST(RepeatCheck, ComparesBitsNotValues) {
  const auto result = Judge([](RunRecord& run, const RunOptions& options, int) {
    run.output[0] = options.poison == Poison::kRandom ? 0x8000 : 0x0000;  // -0 and +0
  });
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(EvidenceOf(result.findings[0], "with_random"), "0x8000 (-0)");
}

TEST(RepeatCheck, TakesTheSameNanForTheSame) {
  const auto result = Judge([](RunRecord& run, auto&, int) {
    run.output[0] = 0x7FFF;
    run.weights[0] = std::bit_cast<float>(0x7FFFFFFFu);
  });
  EXPECT_TRUE(result.findings.empty());
}

TEST(RepeatCheck, TellsAnUncheckedBuildThatDiffersFromNoise) {
  const auto result = Judge([](RunRecord& run, const RunOptions& options, int) {
    if (!options.checked) run.ids[1] = 2;
  });
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].check, "repeat");
  EXPECT_EQ(result.findings[0].error_class, "checked_differs");
  EXPECT_EQ(result.findings[0].evidence, (Evidence{{"tensor", "ids"},
                                                   {"first", "token 0, slot 1"},
                                                   {"checked", "1"},
                                                   {"unchecked", "2"},
                                                   {"different", "1 of 4"}}));
  EXPECT_EQ(result.notes, std::vector<std::string>{"poison not judged: a repeat already differs"});
}

TEST(RepeatCheck, FindsARunThatDoesNotRepeatItself) {
  const auto result = Judge([](RunRecord& run, auto&, int count) {
    run.output[9] = static_cast<std::uint16_t>(0x3F80 + count);
  });
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].check, "repeat");
  EXPECT_EQ(result.findings[0].error_class, "nondeterministic");
}

TEST(RepeatCheck, DoesNotBlameThePoisonForNoise) {
  // The third run differs, and so does the fourth, which has the second's poison.
  const auto result = Judge([](RunRecord& run, auto&, int count) {
    if (count >= 2) run.output[9] = static_cast<std::uint16_t>(0x3F80 + count);
  });
  ASSERT_EQ(result.findings.size(), 1u);
  EXPECT_EQ(result.findings[0].check, "repeat");
  EXPECT_EQ(result.notes, std::vector<std::string>{"poison not judged: a repeat differs"});
}

}  // namespace
}  // namespace assay
