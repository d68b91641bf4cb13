// Every contract: evaluations that keep it stay inside, what leaves by two BF16 steps is rejected.
#include "reference/bounds_study.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

using bounds_study::Tally;

class EveryContract : public testing::TestWithParam<Contract> {};

// 40 cases here; reference_long runs any number.
TEST_P(EveryContract, AdmitsItsEvaluationsAndRejectsTwoSteps) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 40; ++seed)
    bounds_study::RunCase(seed, GetParam(), bounds_study::RejectedByHolds, tally);
  EXPECT_EQ(tally.outside_own, 0);
  EXPECT_EQ(tally.outside_free, 0);
  EXPECT_EQ(tally.accepted_two_steps, 0);
  EXPECT_EQ(tally.unbounded, 0);
  EXPECT_GE(tally.evaluations, 160);
  EXPECT_GT(tally.moved, 1000);
  EXPECT_LE(bounds_study::Most(tally.own), 1);
  EXPECT_GT(bounds_study::Most(tally.own), 1e-4);  // the bound is compared with something
}

INSTANTIATE_TEST_SUITE_P(RoundingContract, EveryContract,
                         testing::ValuesIn(bounds_study::StudiedContracts()),
                         [](const auto& info) { return std::string(info.param.name); });

// The check of two steps is one that can fail: intervals two steps too wide accept them.
TEST(BoundsStudy, SeesIntervalsThatAreTwoStepsTooWide) {
  const Contract& contract = ContractNamed("production");
  const LayerData layer = bounds_study::BuildCase(0, contract);
  const LayerReference reference(layer, contract);
  OutputExpected expected = reference.Evaluate(fp32_model::Choose(layer, reference.Router()));
  Tally right, wide;
  bounds_study::JudgeMoved(expected, bounds_study::RejectedByHolds, right);
  for (Interval& i : expected.stored) {
    i.low = Bf16ToFloat(bounds_study::Stepped(DoubleToBf16(i.low), -2));
    i.high = Bf16ToFloat(bounds_study::Stepped(DoubleToBf16(i.high), 2));
  }
  bounds_study::JudgeMoved(expected, bounds_study::RejectedByHolds, wide);
  EXPECT_EQ(right.accepted_two_steps, 0);
  EXPECT_EQ(right.moved, 2 * layer.problem.hidden * layer.problem.rows);
  EXPECT_EQ(wide.accepted_two_steps, wide.moved);
}

// Elements of one contract's evaluations outside another's admissible set.
long Outside(const char* evaluated, const char* judged_by, int cases) {
  long outside = 0;
  for (int seed = 0; seed < cases; ++seed) {
    const LayerData layer = bounds_study::BuildCase(seed, ContractNamed(judged_by));
    Contract judge = ContractNamed(judged_by);
    judge.accumulate.order = Accumulation::kChainOrLanes;
    const LayerReference reference(layer, judge);
    const Selection s = fp32_model::Choose(layer, reference.Router());
    const auto sums =
        contract_model::Run(ContractNamed(evaluated), {"", fp32_model::Forward, {}}, layer, s);
    const OutputExpected expected = reference.Evaluate(s);
    for (std::size_t i = 0; i < sums.size(); ++i)
      outside += !expected.stored[i].Holds(fp32_model::ToBf16(sums[i]));
  }
  return outside;
}

// A contract that rounds elsewhere is another contract: its outputs leave the set.
TEST(RoundingContracts, TellEachOtherApart) {
  EXPECT_GT(Outside("silu_mul", "production", 20), 0);
  EXPECT_GT(Outside("production", "silu_mul", 20), 0);
  EXPECT_GT(Outside("act_bf16", "production", 20), 0);
  EXPECT_GT(Outside("atomic_c4", "production", 20), 0);
  EXPECT_GT(Outside("batched_blend", "production", 20), 0);
  EXPECT_GT(Outside("production", "batched_blend", 20), 0);
  EXPECT_GT(Outside("w4a8", "production", 20), 0);
  EXPECT_GT(Outside("nvfp4_w4a4", "act_bf16", 20), 0);
}

TEST(RoundingContracts, StagesHoldTheirValues) {
  const Contract& contract = ContractNamed("production");
  const LayerData layer = bounds_study::BuildCase(3, contract);
  const LayerReference reference(layer, contract);
  const Selection s = fp32_model::Choose(layer, reference.Router());
  const OutputExpected expected = reference.Evaluate(s);
  const fp32_model::Floats x = fp32_model::Column(layer, 0);
  const ExpertWeights& e = layer.experts.at(s.ids[0]);
  const contract_model::Summing forward{"", fp32_model::Forward, {}};
  const auto gate = contract_model::Times(forward, e.gate, contract_model::Plain(x));
  const auto up = contract_model::Times(forward, e.up, contract_model::Plain(x));
  ASSERT_EQ(expected.stages.act.size(), std::size_t(layer.problem.top_k) * layer.problem.inter);
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const float g = fp32_model::ToBf16(gate[i]), u = fp32_model::ToBf16(up[i]);
    EXPECT_TRUE(expected.stages.gate[i].Holds(g));
    EXPECT_TRUE(expected.stages.act[i].Holds(contract_model::Activate(contract, g, u)));
    EXPECT_FALSE(expected.stages.act[i].Holds(1.01f * std::fabs(g) + 5));
  }
}

}  // namespace
}  // namespace assay
