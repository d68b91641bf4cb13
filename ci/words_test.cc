#include "ci/words.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(WordsTest, DurationsHaveUnits) {
  EXPECT_EQ(SecondsFromWord("30s"), 30);
  EXPECT_EQ(SecondsFromWord("5m"), 300);
  EXPECT_EQ(SecondsFromWord("1.5h"), 5400);
}

TEST(WordsTest, NonsenseIsNoDuration) {
  for (const char* word : {"", "s", "5", "0", "0s", "-3s", "5d", "5 m", "nan", "inf", "1e9"}) {
    EXPECT_THROW(SecondsFromWord(word), UsageError) << word;
  }
}

TEST(WordsTest, AWholeNumberIsNotNegativeNotTooLargeAndNothingElse) {
  EXPECT_EQ(WholeNumberProblem("0", 0), "");
  EXPECT_EQ(WholeNumberProblem("9223372036854775807", 1), "");
  for (const char* word : {"", "-1", "0", "1.5", "1e3", "12x", "9223372036854775808"}) {
    EXPECT_EQ(WholeNumberProblem(word, 1),
              "'" + std::string(word) + "' is no whole number from 1 to 9223372036854775807");
  }
}

TEST(WordsTest, WorkersAreAutoOrAPositiveNumber) {
  EXPECT_EQ(WorkersFromWord("auto"), 0);
  EXPECT_EQ(WorkersFromWord("4"), 4);
  for (const char* word : {"", "0", "-1", "2x", "99999"}) {
    EXPECT_THROW(WorkersFromWord(word), UsageError) << word;
  }
}

TEST(WordsTest, AnUnknownWordIsAnsweredWithTheKnownOnes) {
  EXPECT_EQ(FromWord<Distribution>("--distribution", "small"), Distribution::kSmall);
  try {
    FromWord<Device>("--device", "tpu");
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--device is 'tpu', which it cannot be: use one of host cuda");
  }
}

TEST(WordsTest, EveryValueHasAWordThatLeadsBack) {
  for (Outcome outcome : AllOf<Outcome>()) EXPECT_EQ(FromName<Outcome>(NameOf(outcome)), outcome);
  for (PathId path : AllOf<PathId>()) EXPECT_EQ(FromName<PathId>(NameOf(path)), path);
  EXPECT_EQ(AllOf<PathId>().size(), static_cast<std::size_t>(kPathCount));
}

}  // namespace
}  // namespace assay
