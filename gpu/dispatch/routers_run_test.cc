// Every router on the host executor: the reference judges the logits, the choice, the weights and
// the output; rows that cannot be routed are refused, nothing is read outside.
#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/run/data_rules.h"
#include "gpu/run/runner.h"
#include "reference/bf16.h"
#include "reference/rounding_contract.h"
#include "reference/routing.h"
#include "reference/tokens.h"

namespace assay {
namespace {

Problem Layer(RouterKind router, int rows) {
  Problem p;
  p.rows = rows;
  p.hidden = 64;
  p.inter = 32;
  p.experts = 40;
  p.top_k = router == RouterKind::kSigmoidTop1 ? 1 : 4;
  p.router = router;
  p.scale = router == RouterKind::kSoftmax || router == RouterKind::kTopkSoftmax ? 1 : 2.5;
  if (router == RouterKind::kSoftmaxBias) p.zero_experts = 24;
  if (router == RouterKind::kGroupedSigmoidBias) {
    p.groups = 8;
    p.groups_kept = 3;
  }
  p.seed = 11;
  return p;
}

constexpr RouterKind kAllRouters[] = {
    RouterKind::kSoftmax,     RouterKind::kSigmoidBias, RouterKind::kSqrtsoftplusBias,
    RouterKind::kSoftmaxBias, RouterKind::kHash,        RouterKind::kGroupedSigmoidBias,
    RouterKind::kTopkSoftmax, RouterKind::kSigmoidTop1};

std::vector<double> LogitsOf(const RunRecord& record) {
  std::vector<double> logits(record.stages.logits_fp32.begin(), record.stages.logits_fp32.end());
  for (const std::uint16_t bits : record.stages.logits) logits.push_back(Bf16ToFloat(bits));
  return logits;
}

template <class T>
std::span<const T> Row(const std::vector<T>& values, int row, int width) {
  return std::span(values).subspan(static_cast<std::size_t>(row) * width, width);
}

void ExpectRouted(const LayerData& layer, const RouterExpected& expected, const RunRecord& record) {
  const Problem& p = layer.problem;
  const std::vector<double> logits = LogitsOf(record);
  ASSERT_EQ(logits.size(), expected.stored.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    EXPECT_TRUE(expected.stored[i].Holds(logits[i])) << "logit " << i << " is " << logits[i];
  for (int row = 0; row < p.rows; ++row) {
    RouteInputs inputs = RouteInputsOf(layer, row);
    inputs.logits = Row(logits, row, p.RouterOutputs());
    RouteChoice choice{Row(record.ids, row, p.top_k), Row(record.weights, row, p.top_k), {}};
    if (!record.identity_weights.empty()) choice.identity_weight = record.identity_weights[row];
    const auto error = JudgeRoute(p, inputs, choice);
    EXPECT_FALSE(error) << error->error_class << ": " << error->summary;
  }
}

int CountOutside(const LayerData& layer, PathId path, const RunRecord& record) {
  const OutputExpected expected =
      LayerReference(layer, ContractOf(path, layer.problem))
          .Evaluate({record.ids, record.weights, record.identity_weights});
  int outside = 0;
  for (std::size_t i = 0; i < record.output.size(); ++i)
    outside += !expected.stored[i].Holds(Bf16ToFloat(record.output[i]));
  return outside;
}

RunRecord ExpectRight(const Problem& problem, PathId path) {
  SCOPED_TRACE(std::string(Token(path)) + " " + std::string(Token(problem.router)));
  EXPECT_EQ(Decide(path, problem).rule, "");
  const LayerData layer = BuildLayer(problem);
  const RunRecord record = MakeRunner(path, Device::kHost, 1)->Run(layer, {});
  ExpectRouted(layer, LayerReference(layer, ContractOf(path, problem)).Router(), record);
  EXPECT_EQ(CountOutside(layer, path, record), 0);
  for (const KindTotals& totals : record.faults) EXPECT_EQ(totals.count, 0);
  std::vector<std::string> launched;
  for (const LaunchInfo& launch : record.launches) launched.push_back(launch.kernel);
  EXPECT_EQ(launched, ExpectedKernels(path, problem));
  return record;
}

TEST(Routers, ChooseAndWeighAsTheReferenceDoes) {
  for (const RouterKind router : kAllRouters)
    for (const LogitDraw logits : {LogitDraw::kPlain, LogitDraw::kTies, LogitDraw::kSaturated}) {
      Problem problem = Layer(router, 1);
      problem.logits = logits;
      ExpectRight(problem, PathId::kSingle);
      problem.rows = 3;
      ExpectRight(problem, PathId::kBatched);
    }
}

TEST(Routers, ServeTheirLargestSize) {
  Problem problem = Layer(RouterKind::kGroupedSigmoidBias, 2);
  problem.experts = 1024;
  problem.top_k = problem.groups = 32;
  problem.groups_kept = 4;
  ExpectRight(problem, PathId::kBatched);
}

TEST(Gates, TakeABiasANormAnotherFormatAndAnotherStore) {
  const auto with = [](auto change) {
    Problem problem = Layer(RouterKind::kSoftmax, 3);
    change(problem);
    ExpectRight(problem, PathId::kBatched);
  };
  with([](Problem& p) { p.fp32_gate = true; });
  with([](Problem& p) { p.router_bias = true; });
  with([](Problem& p) { p.pre_norm = true; });
  with([](Problem& p) { p.gate_format = Format::kNvfp4; });
  with([](Problem& p) {
    p.fp32_gate = p.router_bias = p.pre_norm = true;
    p.gate_format = Format::kNvfp4;
  });
}

TEST(RoutedExperts, ReadTheirOwnNormInTheSinglePath) {
  for (const RouterKind router : {RouterKind::kSoftmax, RouterKind::kSoftmaxBias}) {
    Problem problem = Layer(router, 1);
    problem.pre_expert_norm = true;
    problem.shared = Format::kNvfp4;  // it reads the layer's input
    ExpectRight(problem, PathId::kSingle);
    problem.rows = 3;
    EXPECT_EQ(Decide(PathId::kBatched, problem).rule, "pre_expert_norm");
  }
}

TEST(Lora, FoldsIntoLogitsGateUpAndDownAsTheReferenceDoes) {
  for (const RouterKind router : {RouterKind::kSoftmax, RouterKind::kSigmoidTop1})
    for (const Layout layout : {Layout::kRowMajor, Layout::kTransposed}) {
      Problem problem = Layer(router, 6);
      problem.layout = layout;
      problem.lora = Lora::kFold;
      problem.shared = Format::kNvfp4;
      problem.pre_norm = router == RouterKind::kSoftmax;
      ExpectRight(problem, PathId::kBatched);
      problem.rows = 1;
      ExpectRight(problem, PathId::kSingle);
      problem.lora = Lora::kSkip;
      ExpectRight(problem, PathId::kSingle);
    }
}

TEST(IdentityExperts, MoveTheirWeightsToTheAccumulator) {
  Problem problem = Layer(RouterKind::kSoftmaxBias, 4);
  problem.experts = 8;
  const RunRecord record = ExpectRight(problem, PathId::kBatched);
  ASSERT_EQ(record.identity_weights.size(), 4u);
  EXPECT_GT(*std::max_element(record.identity_weights.begin(), record.identity_weights.end()), 0);
  for (const std::uint32_t id : record.ids) EXPECT_LT(id, 8u);
}

TEST(NonFiniteLogits, AreNeverChosenAndTooFewRefuseTheRow) {
  int refused = 0;
  for (const LogitDraw logits : {LogitDraw::kNan, LogitDraw::kInf})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      Problem problem = Layer(RouterKind::kSoftmax, 2);
      problem.experts = 8;
      problem.logits = logits;
      problem.seed = seed;
      const RunRecord record = ExpectRight(problem, PathId::kBatched);
      refused += static_cast<int>(std::count(record.ids.begin(), record.ids.end(), kNoExpert));
    }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 2 * 6 * 2 * 4);
}

TEST(HashTable, ThatNamesNoExpertIsRefusedBeforeTheLaunchAndMarkedOnTheDevice) {
  Problem problem = Layer(RouterKind::kHash, 1);
  EXPECT_FALSE(BrokenDataRule(BuildLayer(problem)));
  problem.routing = RoutingDraw::kStray;
  const LayerData layer = BuildLayer(problem);
  EXPECT_EQ(BrokenDataRule(layer)->rule, "hash_expert_outside");
  const RunRecord record = MakeRunner(PathId::kSingle, Device::kHost, 1)->Run(layer, {});
  EXPECT_EQ(record.ids, std::vector<std::uint32_t>(4, kNoExpert));
  EXPECT_EQ(record.weights, std::vector<float>(4, 0.0f));
}

TEST(HashTable, NeedsTheIdOfEveryTokenWithinIt) {
  LayerData layer = BuildLayer(Layer(RouterKind::kHash, 2));
  layer.token_ids[1] = 1u << 20;
  EXPECT_EQ(BrokenDataRule(layer)->rule, "hash_token_outside");
  layer.token_ids.clear();
  EXPECT_EQ(BrokenDataRule(layer)->rule, "hash_token_ids");
}

}  // namespace
}  // namespace assay
