#include "oracle/launches_check.h"

#include <gtest/gtest.h>

#include "oracle/scripted_case.h"

namespace assay {
namespace {

RunRecord RunOf(const std::vector<std::string>& kernels) {
  RunRecord run;
  for (const std::string& kernel : kernels) run.launches.push_back({kernel, {}, 32, 0});
  return run;
}

std::vector<Finding> Check(const std::vector<std::string>& got) {
  static const ScriptedCase c = MakeScriptedCase();
  return CheckLaunches(c.context(), RunOf(got), {"router", "topk", "gate_up", "down", "blend"});
}

TEST(LaunchesCheck, PassesTheDeclaredKernelsInOrder) {
  EXPECT_TRUE(Check({"router", "topk", "gate_up", "down", "blend"}).empty());
}

TEST(LaunchesCheck, FindsAKernelThatIsMissing) {
  const auto findings = Check({"router", "topk", "gate_up", "down"});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "missing_kernel");
  EXPECT_EQ(findings[0].kernel, "blend");
  EXPECT_EQ(EvidenceOf(findings[0], "first_difference"), "launch 4: expected blend, got nothing");
}

TEST(LaunchesCheck, FindsAKernelInThePlaceOfAnother) {
  const auto findings = Check({"router", "topk", "gate_up_e8m0", "down", "blend"});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].error_class, "undeclared_kernel");
  EXPECT_EQ(findings[0].kernel, "gate_up_e8m0");
  EXPECT_EQ(findings[1].error_class, "missing_kernel");
  EXPECT_EQ(findings[1].kernel, "gate_up");
}

TEST(LaunchesCheck, FindsADeclaredKernelLaunchedTwice) {
  const auto findings = Check({"router", "topk", "gate_up", "down", "blend", "blend"});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "undeclared_kernel");
  EXPECT_EQ(EvidenceOf(findings[0], "first_difference"), "launch 5: expected nothing, got blend");
}

TEST(LaunchesCheck, FindsAnotherOrder) {
  const auto findings = Check({"topk", "router", "gate_up", "down", "blend"});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "wrong_order");
}

TEST(FoldedKernels, NamesEachKernelOnceInOrderOfFirstLaunch) {
  EXPECT_EQ(FoldedKernels(RunOf({"router", "topk", "blend", "topk", "blend"})),
            (std::vector<std::string>{"router", "topk", "blend"}));
}

}  // namespace
}  // namespace assay
