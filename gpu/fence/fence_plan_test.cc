#include "gpu/fence/fence_plan.h"

#include <gtest/gtest.h>

#include <set>

namespace assay {
namespace {

std::vector<TensorSize> Experts(int count, std::size_t bytes) {
  std::vector<TensorSize> tensors = {{"input", 100}};
  for (int e = 0; e < count; ++e) {
    tensors.push_back({"gate[" + std::to_string(e) + "].payload", 10 * bytes});
    tensors.push_back({"gate[" + std::to_string(e) + "].scale", bytes});
  }
  return tensors;
}

const FencedOperand& Find(const FencePlan& plan, const std::string& name) {
  for (const FencedOperand& operand : plan.operands)
    if (operand.name == name) return operand;
  ADD_FAILURE() << name;
  return plan.operands.front();
}

TEST(FencePlan, PutsTheTensorsOfAnOperandIntoOneBlock) {
  const FencePlan plan = PlanFence(Experts(3, 32), {});
  EXPECT_EQ(plan.operands.size(), 3u);
  EXPECT_EQ(Find(plan, "gate.scale").bytes, 96u);
  EXPECT_EQ(Find(plan, "gate.scale").blind, 0u);
  EXPECT_EQ(Find(plan, "input").bytes, 112u);
  EXPECT_EQ(Find(plan, "input").blind, 12u);
}

TEST(FencePlan, BringsEveryExpertToTheFenceByRotation) {
  for (const Side side : {Side::kBack, Side::kFront}) {
    std::set<std::string> seen;
    for (int rotation = 0; rotation < 5; ++rotation)
      seen.insert(Find(PlanFence(Experts(5, 16), {side, rotation, ""}), "gate.scale").at_fence);
    EXPECT_EQ(seen.size(), 5u);
  }
}

TEST(FencePlan, EndsTheLastTensorAtTheEndOfTheBlock) {
  const auto tensors = Experts(4, 48);
  for (int rotation = 0; rotation < 4; ++rotation) {
    const FencePlan plan = PlanFence(tensors, {Side::kBack, rotation, ""});
    const FencedOperand& scales = Find(plan, "gate.scale");
    const int last = scales.tensors.back();
    EXPECT_EQ(tensors[last].name, scales.at_fence);
    EXPECT_EQ(plan.places[last].offset + tensors[last].bytes + scales.blind, scales.bytes);
    const FencePlan front = PlanFence(tensors, {Side::kFront, rotation, ""});
    EXPECT_EQ(front.places[Find(front, "gate.scale").tensors.front()].offset, 0u);
  }
}

TEST(FencePlan, LetsNoTwoTensorsOverlap) {
  const auto tensors = Experts(6, 40);
  const FencePlan plan = PlanFence(tensors, {Side::kBack, 2, ""});
  for (const FencedOperand& operand : plan.operands) {
    std::size_t end = 0;
    for (const int tensor : operand.tensors) {
      EXPECT_GE(plan.places[tensor].offset, end);
      EXPECT_EQ(plan.places[tensor].offset % 16, 0u);
      end = plan.places[tensor].offset + tensors[tensor].bytes;
    }
    EXPECT_LE(end, operand.bytes);
  }
}

TEST(OperandOf, LeavesOutTheExpert) {
  EXPECT_EQ(OperandOf("down_t[12].payload"), "down_t.payload");
  EXPECT_EQ(OperandOf("gate[unrouted].scale"), "gate.scale");
  EXPECT_EQ(OperandOf("moe_output"), "moe_output");
}

}  // namespace
}  // namespace assay
