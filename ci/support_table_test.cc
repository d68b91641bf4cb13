#include "ci/support_table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "gpu/dispatch/support_matrix.h"

namespace assay {
namespace {

TEST(SupportTableTest, JsonCoversEveryCombinationOfEveryPath) {
  const auto boxes = nlohmann::json::parse(SupportMatrixText(MatrixFormat::kJson));
  std::int64_t covered = 0;
  for (const auto& box : boxes) {
    std::int64_t product = 1;
    for (const char* axis : kSupportAxes) product *= static_cast<std::int64_t>(box[axis].size());
    EXPECT_EQ(box["combinations"], product);
    covered += product;
  }
  EXPECT_EQ(covered, kPathCount * SupportCombinations());
}

TEST(SupportTableTest, TextAndMarkdownEndWithTheNumberOfCombinations) {
  const std::string count = std::to_string(kPathCount * SupportCombinations()) + " combinations: ";
  for (const MatrixFormat format : {MatrixFormat::kText, MatrixFormat::kMarkdown})
    EXPECT_NE(SupportMatrixText(format).find(count), std::string::npos);
}

}  // namespace
}  // namespace assay
