#include "ci/cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "fuzz/campaign.h"

namespace assay {
namespace {

TEST(CellsTest, TheCellsOfTheMainJobAreAmongThem) {
  const std::vector<std::string>& cells = RunningCells();
  for (const char* cell :
       {"k3 nvfp4 transposed shared=none", "k3 nvfp4 row_major shared=nvfp4",
        "batched mxfp4 transposed shared=none", "single nvfp4 row_major shared=none"}) {
    EXPECT_TRUE(std::binary_search(cells.begin(), cells.end(), cell)) << cell;
  }
  for (const char* variant : {"k3 router=softmax", "kn router=sigmoid_bias"}) {
    EXPECT_TRUE(std::binary_search(RunningVariants().begin(), RunningVariants().end(), variant));
  }
}

TEST(CellsTest, WhatFallsBackIsNoCell) {
  for (const std::string& cell : RunningCells()) {
    EXPECT_FALSE(cell.starts_with("kn mxfp4")) << cell;
  }
}

TEST(CellsTest, CellsAreSortedAndDistinct) {
  const std::vector<std::string>& cells = RunningCells();
  EXPECT_TRUE(std::is_sorted(cells.begin(), cells.end()));
  EXPECT_EQ(std::set<std::string>(cells.begin(), cells.end()).size(), cells.size());
}

TEST(CellsTest, ACellThatNoCaseRanIsThin) {
  std::map<std::string, std::int64_t> counts;
  for (const std::string& cell : RunningCells()) counts[cell] = 5;
  EXPECT_TRUE(ThinCells(RunningCells(), counts, 5).empty());
  const std::string missing = RunningCells().front(), poor = RunningCells().back();
  counts.erase(missing);
  counts[poor] = 4;
  const std::vector<ThinCell> thin = ThinCells(RunningCells(), counts, 5);
  ASSERT_EQ(thin.size(), 2u);
  EXPECT_EQ(thin[0].cell, missing);
  EXPECT_EQ(thin[0].cases, 0);
  EXPECT_EQ(thin[1].cell, poor);
  EXPECT_EQ(thin[1].cases, 4);
}

TEST(CellsTest, TheNamesAreThoseOfCampaigns) {
  CampaignOptions options;
  options.cases = 30;
  options.distribution = Distribution::kSmall;
  options.checks = Checks::kFast;
  const CampaignResult result = RunCampaign(options);
  ASSERT_FALSE(result.own_kernels.empty());
  for (const auto& [cell, cases] : result.own_kernels) {
    EXPECT_TRUE(std::binary_search(RunningCells().begin(), RunningCells().end(), cell)) << cell;
  }
  for (const auto& [name, cases] : result.variants) {
    EXPECT_TRUE(std::binary_search(RunningVariants().begin(), RunningVariants().end(), name));
  }
}

}  // namespace
}  // namespace assay
