// Captured steps on the host executor, and what the run record keeps.
#include <gtest/gtest.h>

#include "gpu/run/runner.h"

namespace assay {
namespace {

Problem TransposedLayer(int rows) {
  Problem p;
  p.rows = rows;
  p.hidden = 160;
  p.inter = 96;
  p.layout = Layout::kTransposed;
  p.shared = Format::kNvfp4;
  p.seed = 21;
  return p;
}

TEST(CapturedStep, GivesThePlainBitsInBothReplays) {
  for (const PathId path : {PathId::kK3, PathId::kBatched}) {
    Problem p = TransposedLayer(3);
    p.graph = true;
    const LayerData layer = BuildLayer(p);
    const auto runner = MakeRunner(path, Device::kHost, 1);
    const RunRecord plain = runner->Run(layer, {true, Poison::kOnes, false});
    EXPECT_TRUE(plain.first_replay.empty());
    for (const bool checked : {true, false}) {
      const RunRecord graph = runner->Run(layer, {checked, Poison::kZeros});
      EXPECT_EQ(graph.first_replay, plain.output);
      EXPECT_EQ(graph.output, plain.output);
      EXPECT_EQ(graph.ids, plain.ids);
      EXPECT_TRUE(graph.stages.gate.empty());
      EXPECT_EQ(graph.launches.size(), plain.launches.size());
    }
  }
}

TEST(RunRecordOfAStep, CountsTheDistinctExpertsThatItsIdsName) {
  Problem p = TransposedLayer(3);
  p.routing = RoutingDraw::kIdentical;
  const LayerData layer = BuildLayer(p);
  EXPECT_EQ(MakeRunner(PathId::kBatched, Device::kHost, 1)->Run(layer, {}).distinct_experts,
            p.top_k);
}

}  // namespace
}  // namespace assay
