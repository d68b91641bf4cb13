#include "oracle/graph_check.h"

#include <gtest/gtest.h>

#include "oracle/scripted_case.h"

namespace assay {
namespace {

RunRecord Replayed(const Problem& problem) {
  RunRecord run = MakeScriptedRun(problem);
  run.first_replay = run.output;
  run.launches = {{"topk_softmax", {}, 32, 0}, {"blend_batch3", {}, 128, 0}};
  return run;
}

TEST(GraphCheck, PassesReplaysThatGiveThePlainBits) {
  const ScriptedCase c = MakeScriptedCase();
  const Problem& p = c.layer.problem;
  EXPECT_TRUE(CheckGraph(c.context(), Replayed(p), MakeScriptedRun(p)).empty());
}

TEST(GraphCheck, FindsASecondReplayThatDiffersFromTheFirst) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord graph = Replayed(c.layer.problem);
  graph.first_replay[5] = 0x7FFF;
  const auto found = CheckGraph(c.context(), graph, MakeScriptedRun(c.layer.problem));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].check, "graph");
  EXPECT_EQ(found[0].error_class, "replays_differ");
  EXPECT_EQ(found[0].kernel, "blend_batch3");
  EXPECT_EQ(EvidenceOf(found[0], "first"), "token 0, column 5");
}

TEST(GraphCheck, FindsReplaysThatAgreeOnSomethingElseThanThePlainRun) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord plain = MakeScriptedRun(c.layer.problem);
  plain.weights[1] = 0.25f;
  const auto found = CheckGraph(c.context(), Replayed(c.layer.problem), plain);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].error_class, "differs_from_plain");
  EXPECT_EQ(EvidenceOf(found[0], "tensor"), "weights");
}

// A runner that never replayed shows no first replay: that is no pass.
TEST(GraphCheck, FindsARunWithoutReplays) {
  const ScriptedCase c = MakeScriptedCase();
  const RunRecord plain = MakeScriptedRun(c.layer.problem);
  EXPECT_EQ(CheckGraph(c.context(), plain, plain).size(), 1u);
}

}  // namespace
}  // namespace assay
