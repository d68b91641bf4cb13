// Expert parallel in the reference: the double rounding of the all-reduce, the shared expert once.
#include <gtest/gtest.h>

#include "reference/bf16.h"
#include "reference/expected.h"
#include "reference/expert_parallel.h"

namespace assay {
namespace {

struct Ranks {
  LayerData layer;
  Selection selection;

  explicit Ranks(std::uint64_t seed) {
    Problem p;
    p.rows = 2;
    p.hidden = 32;
    p.inter = 32;
    p.experts = 6;
    p.top_k = 4;
    p.shared = Format::kNvfp4;
    p.shared_gate = SharedGate::kNone;
    p.seed = seed;
    layer = BuildLayer(p);
    const RouterExpected router = LayerReference(layer).Router();
    for (int row = 0; row < p.rows; ++row)
      for (int slot = 0; slot < p.top_k; ++slot) {
        selection.ids.push_back(router.may[row][slot]);
        selection.weights.push_back(0.125f * (1 + slot));
      }
  }
  OutputExpected Evaluate(int ranks) {
    layer.problem.ep = ranks;
    return LayerReference(layer).Evaluate(selection);
  }
};

// One element as ranks compute it whose stages lie at the middle of their intervals.
double AsRanksCompute(const Ranks& ranks, const OutputExpected& expected, int i,
                      bool twice_shared) {
  const Problem& p = ranks.layer.problem;
  const ExpertMap map = MapOf(p);
  RankSums sums{std::vector<double>(p.ep), 0, true};
  const int row = i / p.hidden, column = i % p.hidden;
  for (int slot = row * p.top_k; slot < (row + 1) * p.top_k; ++slot) {
    const Interval& down = expected.stages.down[slot * p.hidden + column];
    sums.partials[map.RankOf(ranks.selection.ids[slot])] +=
        ranks.selection.weights[slot] * RoundToBf16((down.low + down.high) / 2);
  }
  const Interval& shared = expected.stages.shared_down[i];
  sums.shared = (twice_shared ? 2 : 1) * RoundToBf16((shared.low + shared.high) / 2);
  return ReducedInOrder(sums);
}

TEST(ExpertParallelLayer, HoldsWhatRanksComputeWhoRoundTwice) {
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const int count : {2, 3, 6}) {
      Ranks ranks(seed);
      const OutputExpected expected = ranks.Evaluate(count);
      for (std::size_t i = 0; i < expected.stored.size(); ++i)
        ASSERT_TRUE(expected.stored[i].Holds(AsRanksCompute(ranks, expected, int(i), false)));
    }
}

TEST(ExpertParallelLayer, RejectsTheSharedExpertCountedOnEveryRank) {
  Ranks ranks(3);
  const OutputExpected expected = ranks.Evaluate(2);
  int outside = 0;
  for (std::size_t i = 0; i < expected.stored.size(); ++i)
    outside += !expected.stored[i].Holds(AsRanksCompute(ranks, expected, int(i), true));
  EXPECT_GT(outside, static_cast<int>(expected.stored.size()) / 2);
}

// Real arithmetic knows no ranks; the contract only widens.
TEST(ExpertParallelLayer, HasTheSameExactOutputAndWiderIntervals) {
  Ranks ranks(1);
  const OutputExpected one = ranks.Evaluate(1), three = ranks.Evaluate(3);
  // Two orders of five double sums of terms below 64.
  for (std::size_t i = 0; i < one.exact.size(); ++i)
    EXPECT_NEAR(one.exact[i], three.exact[i], 5 * 0x1p-53 * (5 * 64));
  int wider = 0;
  for (std::size_t i = 0; i < one.stored.size(); ++i)
    wider += three.stored[i].high - three.stored[i].low > one.stored[i].high - one.stored[i].low;
  EXPECT_GT(wider, 0);
}

}  // namespace
}  // namespace assay
