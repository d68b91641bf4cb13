#include "ci/table.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(TableTest, ColumnsAreAlignedAndNumbersGoRight) {
  Table table({"name", "cases"});
  table.Add({"k3", "7"});
  table.Add({"batched", "1234"});
  EXPECT_EQ(table.Text(),
            "name     cases\n"
            "k3           7\n"
            "batched   1234\n");
}

TEST(TableTest, ShortRowsAreFilledAndLinesEndWithoutSpaces) {
  Table table({"a", "b"});
  table.Add({"word"});
  EXPECT_EQ(table.Text(1), " a     b\n word\n");
}

TEST(TableTest, MarkdownEscapesPipesAndLineBreaks) {
  Table table({"what"});
  table.Add({"a|b\nc\\"});
  EXPECT_EQ(table.Markdown(), "| what |\n| --- |\n| a\\|b c\\\\ |\n");
}

}  // namespace
}  // namespace assay
