#include "ci/floors.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ci/cells.h"

namespace assay {
namespace {

GatePolicy Policy() {
  GatePolicy policy;
  policy.cases = 100;
  policy.own_kernel_cases = 10;
  policy.elements = 1000;
  policy.experts = 50;
  policy.vacuous_share = 0.1;
  return policy;
}

CampaignResult Rich() {
  CampaignResult result;
  for (const std::string& cell : RunningCells()) result.own_kernels[cell] = 10;
  result.work.elements = 1000;
  result.work.experts = 50;
  result.passed = 90;
  result.vacuous = 10;
  return result;
}

std::vector<std::string> Broken(const std::vector<Floor>& floors) {
  std::vector<std::string> names;
  for (const Floor& floor : floors) {
    if (!floor.held) names.push_back(floor.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(FloorsTest, FloorsHoldAtTheirValue) {
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, Rich())), Names{});
}

TEST(FloorsTest, EachFloorBreaksByItself) {
  CampaignResult few_elements = Rich(), few_experts = Rich(), vacuous = Rich(), thin = Rich();
  few_elements.work.elements = 999;
  few_experts.work.experts = 49;
  vacuous.vacuous = 11;
  const std::string cell = RunningCells().front();
  thin.own_kernels[cell] = 9;
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, few_elements)), Names{"elements"});
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, few_experts)), Names{"experts"});
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, vacuous)), Names{"vacuous_share"});
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, thin)), Names{"own_kernel_cases of '" + cell + "'"});
}

TEST(FloorsTest, RefusalsDoNotDiluteTheVacuousShare) {
  CampaignResult result = Rich();
  result.passed += 1000;
  result.refused += 1000;
  result.vacuous = 11;
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, result)), Names{"vacuous_share"});
}

TEST(FloorsTest, AQuickGateHasQuickCountsButTheSameShare) {
  CampaignResult result = Rich();
  for (auto& [cell, cases] : result.own_kernels) cases = 1;
  result.work.elements = 100;
  result.work.experts = 5;
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 10, result)), Names{});
  result.work.elements = 99;
  result.vacuous = 20;
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 10, result)), (Names{"elements", "vacuous_share"}));
}

TEST(FloorsTest, MoreCasesThanThePolicyKeepItsFloors) {
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 1000, Rich())), Names{});
}

TEST(FloorsTest, AnEmptyCampaignBreaksEveryCellAndCount) {
  const Names broken = Broken(JudgeFloors(Policy(), 100, CampaignResult{}));
  EXPECT_EQ(broken.size(), RunningCells().size() + 2);
}

}  // namespace
}  // namespace assay
