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
  policy.variant_cases = 3;
  policy.elements = 1000;
  policy.experts = 50;
  policy.vacuous_share = 0.1;
  policy.goldens = 7;
  return policy;
}

CampaignResult Rich() {
  CampaignResult result;
  for (const std::string& cell : RunningCells()) result.own_kernels[cell] = 10;
  for (const std::string& name : RunningVariants()) result.variants[name] = 3;
  result.work.elements = 1000;
  result.work.experts = 50;
  result.passed = 90;
  result.vacuous = 10;
  return result;
}

std::vector<std::string> Broken(const std::vector<Floor>& floors) {
  std::vector<std::string> names;
  for (const Floor& floor : floors) {
    if (floor.outcome == Outcome::kFailed) names.push_back(floor.name);
  }
  return names;
}

using Names = std::vector<std::string>;

TEST(FloorsTest, FloorsHoldAtTheirValue) {
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, Rich(), 7)), Names{});
}

TEST(FloorsTest, EachFloorBreaksByItself) {
  CampaignResult few_elements = Rich(), few_experts = Rich(), vacuous = Rich(), thin = Rich();
  few_elements.work.elements = 999;
  few_experts.work.experts = 49;
  vacuous.vacuous = 11;
  const std::string cell = RunningCells().front();
  thin.own_kernels[cell] = 9;
  CampaignResult rare = Rich();
  const std::string variant = RunningVariants().front();
  rare.variants[variant] = 2;
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, rare, 7)),
            Names{"variant_cases of '" + variant + "'"});
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, few_elements, 7)), Names{"elements"});
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, few_experts, 7)), Names{"experts"});
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, vacuous, 7)), Names{"vacuous_share"});
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, thin, 7)),
            Names{"own_kernel_cases of '" + cell + "'"});
}

TEST(FloorsTest, RefusalsDoNotDiluteTheVacuousShare) {
  CampaignResult result = Rich();
  result.passed += 1000;
  result.refused += 1000;
  result.vacuous = 11;
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, result, 7)), Names{"vacuous_share"});
}

TEST(FloorsTest, AQuickGateSkipsTheCountsAndKeepsTheShareAndTheGoldens) {
  const std::vector<Floor> floors = JudgeFloors(Policy(), 10, CampaignResult{}, 7);
  Names skipped;
  for (const Floor& floor : floors) {
    if (floor.outcome != Outcome::kSkipped) continue;
    skipped.push_back(floor.name);
    EXPECT_EQ(floor.text, "only 10 of 100 cases were asked for");
  }
  EXPECT_EQ(skipped, (Names{"own_kernel_cases", "variant_cases", "elements", "experts"}));
  CampaignResult vacuous = Rich();
  vacuous.vacuous = 20;
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 10, vacuous, 6)), (Names{"vacuous_share", "goldens"}));
}

TEST(FloorsTest, AGoldenThatIsMissingBreaksItsFloorAlone) {
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 100, Rich(), 6)), Names{"goldens"});
}

TEST(FloorsTest, MoreCasesThanThePolicyKeepItsFloors) {
  EXPECT_EQ(Broken(JudgeFloors(Policy(), 1000, Rich(), 7)), Names{});
}

TEST(FloorsTest, AnEmptyCampaignBreaksEveryCellAndCount) {
  const Names broken = Broken(JudgeFloors(Policy(), 100, CampaignResult{}, 0));
  EXPECT_EQ(broken.size(), RunningCells().size() + RunningVariants().size() + 3);
}

}  // namespace
}  // namespace assay
