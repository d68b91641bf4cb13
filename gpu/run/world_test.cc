// Expert parallel against the same step on one rank.
#include "gpu/run/world.h"

#include <gtest/gtest.h>

#include "gpu/kernels/numeric.h"
#include "gpu/run/runner.h"
#include "reference/bf16.h"
#include "reference/error.h"
#include "reference/layer_data.h"

namespace assay {
namespace {

// The layer's data do not depend on how its experts are spread.
struct Spread {
  LayerData layer;

  explicit Spread(const Problem& problem) : layer(BuildLayer(problem)) {}
  RunRecord Run(PathId path, int ranks, EpMap map) {
    layer.problem.ep = ranks;
    layer.problem.ep_map = map;
    return MakeRunner(path, Device::kHost, 1)->Run(layer, {});
  }
};

Problem Step(int rows) {
  Problem p;
  p.rows = rows;
  p.hidden = 48;
  p.inter = 32;
  p.experts = 7;
  p.top_k = 3;
  p.shared = Format::kNvfp4;
  return p;
}

// A rank's blend of the slots whose experts it holds, as the contract rounds it.
std::uint16_t PartialOutput(const RunRecord& run, const Problem& p, const ExpertMap& map, int rank,
                            int row, int column) {
  float sum = 0;
  for (int slot = row * p.top_k; slot < (row + 1) * p.top_k; ++slot) {
    const bool mine = map.RankOf(static_cast<int>(run.ids[slot])) == rank;
    const float down = mine ? Bf16ToFloat(run.stages.down[slot * p.hidden + column]) : 0.0f;
    sum += run.weights[slot] * down;
  }
  return Bf16::Round(sum).bits;
}

class Ranks : public testing::TestWithParam<int> {};

// Every expert computes the same bits on whatever rank it lives; partial outputs are rounded, added
// in rank order with a rounding each, and the residual shared expert comes last.
TEST_P(Ranks, GiveTheSingleRanksIntermediatesAndTheReducedOutput) {
  for (const EpMap map : {EpMap::kEven, EpMap::kUneven}) {
    Problem p = Step(3);
    p.shared_gate = SharedGate::kNone;
    Spread spread(p);
    const RunRecord one = spread.Run(PathId::kK3, 1, map);
    const RunRecord many = spread.Run(PathId::kK3, GetParam(), map);
    EXPECT_EQ(one.ids, many.ids);
    EXPECT_EQ(one.stages.gate, many.stages.gate);
    EXPECT_EQ(one.stages.down, many.stages.down);
    EXPECT_EQ(one.stages.shared_down, many.stages.shared_down);
    EXPECT_TRUE(many.rank_differences.empty());
    const ExpertMap experts = MapOf(spread.layer.problem);
    for (int i = 0; i < p.rows * p.hidden; ++i) {
      const int row = i / p.hidden, column = i % p.hidden;
      Bf16 sum{PartialOutput(many, p, experts, 0, row, column)};
      for (int rank = 1; rank < GetParam(); ++rank)
        sum = Bf16::Round(sum.ToFloat() +
                          Bf16{PartialOutput(many, p, experts, rank, row, column)}.ToFloat());
      const float shared = Bf16ToFloat(many.stages.shared_down[i]);
      ASSERT_EQ(many.output[i], Bf16::Round(sum.ToFloat() + shared).bits) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(TwoToFive, Ranks, testing::Values(2, 3, 4, 5));

TEST(ExpertParallelStep, ReducesTokenByTokenWhereThePathWorksTokenByToken) {
  Spread spread(Step(2));
  const RunRecord run = spread.Run(PathId::kBatched, 2, EpMap::kEven);
  std::vector<std::string> kernels;
  for (const LaunchInfo& launch : run.launches) kernels.push_back(launch.kernel);
  EXPECT_EQ(kernels, ExpectedKernels(PathId::kBatched, spread.layer.problem));
  EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "all_reduce"), 2);
  EXPECT_EQ(kernels.back(), "batched_blend");
}

TEST(ThreadWorld, ARankThatThrowsFreesTheOthersAndIsTheOneThatIsReported) {
  Problem p = Step(1);
  p.ep = 3;
  const StagedMemory none = {[](void*, const void*, std::size_t) {},
                             [](void*, const void*, std::size_t) {}};
  try {
    ThreadWorld().Run(p, none, [](const Seat& seat) -> RunRecord {
      if (seat.rank == 2) throw UsageError("rank 2 has had enough");
      seat.communicator->AllReduce(nullptr, 0);
      return {};
    });
    FAIL() << "nothing was thrown";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "rank 2 has had enough");
  }
}

TEST(MergeRanks, TellsWhichRankEndedOtherwise) {
  Problem p = Step(1);
  p.ep = 2;
  RunRecord record;
  record.ids = {0, 1, 2};
  record.weights = {1, 1, 1};
  record.output = {1, 2, 3, 4};
  RunRecord other = record;
  other.output[2] = 9;
  const RunRecord merged = MergeRanks({record, other}, p, ExpertMap::Even(7, 2));
  ASSERT_EQ(merged.rank_differences.size(), 1u);
  EXPECT_EQ(merged.rank_differences[0].rank, 1);
  EXPECT_EQ(merged.rank_differences[0].what, "output");
  EXPECT_EQ(merged.rank_differences[0].index, 2);
}

}  // namespace
}  // namespace assay
