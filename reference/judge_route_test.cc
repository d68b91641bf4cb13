// Rows of every router that a problem can name, right ones and wrong ones.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "reference/group_selection.h"
#include "reference/interval.h"
#include "reference/router_cases.h"
#include "reference/router_expected.h"
#include "reference/routing.h"

namespace assay {
namespace {

struct Row {
  Problem problem;
  std::vector<double> logits;
  std::vector<float> bias;
  RoutedRow routed;
};

Row DrawRow(RouterKind kind, std::uint64_t seed) {
  router_cases::Draw draw(seed);
  Row row;
  Problem& p = row.problem;
  p.router = kind;
  p.experts = 12;
  p.top_k = 1 + draw.Below(4);
  p.norm = draw.Coin();
  p.scale = kind == RouterKind::kSoftmax ? 1 : 2.5;
  if (kind == RouterKind::kGroupedSigmoidBias) {
    p.groups = 3;
    p.groups_kept = 2;
  }
  for (int e = 0; e < p.experts; ++e) row.logits.push_back(static_cast<float>(draw.Bell(2)));
  const bool biased = kind != RouterKind::kSoftmax && kind != RouterKind::kTopkSoftmax &&
                      kind != RouterKind::kSigmoidTop1;
  if (biased)
    for (int e = 0; e < p.experts; ++e) row.bias.push_back(static_cast<float>(draw.Bell(0.2)));
  const std::vector<double> correction(row.bias.begin(), row.bias.end());
  row.routed = RouteRow(RuleFor(p), {{}, correction, {}, {}}, row.logits);
  return row;
}

std::optional<RoutingError> JudgeRow(const Row& row) {
  const std::vector<std::uint32_t> ids(row.routed.ids.begin(), row.routed.ids.end());
  const std::vector<float> weights(row.routed.weights.begin(), row.routed.weights.end());
  return JudgeRoute(row.problem, row.logits, row.bias, ids, weights);
}

constexpr RouterKind kKinds[] = {
    RouterKind::kSoftmax,     RouterKind::kSigmoidBias,        RouterKind::kSqrtsoftplusBias,
    RouterKind::kSoftmaxBias, RouterKind::kGroupedSigmoidBias, RouterKind::kTopkSoftmax,
    RouterKind::kSigmoidTop1};

TEST(JudgeRoute, AcceptsTheRouteOfEveryRouter) {
  for (const RouterKind kind : kKinds)
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      const auto error = JudgeRow(DrawRow(kind, seed));
      ASSERT_FALSE(error) << int(kind) << " seed " << seed << ": " << error->summary;
    }
}

// The last slot gets the worst expert of all, with the weight that it would have.
TEST(JudgeRoute, RejectsTheWorstExpertInEveryRouter) {
  for (const RouterKind kind : kKinds)
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Row row = DrawRow(kind, seed);
      const auto scores = SelectionScores(row.problem, row.logits, row.bias);
      const auto order = TopK(scores, row.problem.experts);
      row.routed.ids.back() = order.back();
      row.routed = WeighChosen(RuleFor(row.problem), {}, row.logits, row.routed.ids);
      const auto error = JudgeRow(row);
      ASSERT_TRUE(error) << int(kind) << " seed " << seed;
      EXPECT_EQ(error->error_class, "wrong_selection");
    }
}

TEST(JudgeRoute, RejectsAWeightThatIsOffByAHundredThousandth) {
  for (const RouterKind kind : kKinds)
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
      Row row = DrawRow(kind, seed);
      row.routed.weights.back() *= 1 + 1e-5;
      const auto error = JudgeRow(row);
      ASSERT_TRUE(error) << int(kind) << " seed " << seed;
      EXPECT_EQ(error->error_class, "wrong_weight");
    }
}

// Another router's choice: seen in some rows of each kind that differs in its selection.
TEST(JudgeRoute, RejectsUngroupedSelectionWhereGroupsAreKept) {
  int rejected = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Row row = DrawRow(RouterKind::kGroupedSigmoidBias, seed);
    Problem plain = row.problem;
    plain.groups = plain.groups_kept = 1;
    const std::vector<double> correction(row.bias.begin(), row.bias.end());
    row.routed = RouteRow(RuleFor(plain), {{}, correction, {}, {}}, row.logits);
    const auto error = JudgeRow(row);
    rejected += error.has_value();
    EXPECT_EQ(error ? error->error_class : "wrong_selection", "wrong_selection");
  }
  EXPECT_GT(rejected, 10);
}

// A sum over the others in another order would differ in the last bit, and break ties by it.
TEST(JudgeRoute, EqualLogitsHaveTheSameScoreIntervalToTheBit) {
  Problem p;
  p.router = RouterKind::kSoftmaxBias;
  p.experts = 3;
  p.zero_experts = 4;
  const double tie = -0.1513671875;
  std::vector<Interval> stored;
  for (const double l : {0.3, 0.7, 1.1, tie, 0.45, -3.2, tie}) stored.push_back({l, l});
  const std::vector<float> bias(stored.size(), 0.125f);
  const auto scores = ScoreIntervals(p, stored, bias);
  EXPECT_EQ(scores[3].low, scores[6].low);
  EXPECT_EQ(scores[3].high, scores[6].high);
  EXPECT_LT(scores[5].high, scores[3].low);
}

// A weight of 2^-65 may underflow in FP32: its share of itself has no bound, which is not "NaN".
TEST(JudgeRoute, AWeightThatMayUnderflowHasNoBoundRatherThanNaN) {
  Problem p;
  p.router = RouterKind::kHash;
  p.experts = 2;
  p.top_k = 1;
  p.scale = 2.5;
  const std::vector<double> logits = {-89.5, 3.0};
  const WeightsExpected expected = RouteWeights(p, logits, std::vector<int>{0});
  EXPECT_TRUE(std::isinf(expected.bound[0]));
  EXPECT_EQ(expected.weights[0], 2.5);
}

// Logits inside their boxes give scores inside the intervals, with FP32 steps.
TEST(JudgeRoute, ScoreIntervalsHoldTheScoresOfAllLogitsInside) {
  for (const RouterKind kind : kKinds)
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const Row row = DrawRow(kind, seed);
      router_cases::Draw draw(seed + 9);
      std::vector<Interval> boxes;
      std::vector<double> inside;
      for (const double l : row.logits) {
        boxes.push_back({l - 0.01, l + 0.01});
        inside.push_back(l + 0.01 * (draw.Below(201) - 100) / 100);
      }
      Problem plain = row.problem;
      plain.groups = plain.groups_kept = 1;  // masks would be -inf
      const auto intervals = ScoreIntervals(plain, boxes, row.bias);
      const auto scores = SelectionScores(plain, inside, row.bias);
      for (std::size_t e = 0; e < scores.size(); ++e)
        ASSERT_TRUE(intervals[e].Holds(scores[e])) << int(kind) << " seed " << seed;
    }
}

TEST(JudgeRoute, ComparesTheIdsOfAHashTableAndWeighsThem) {
  Problem p;
  p.router = RouterKind::kHash;
  p.experts = 4;
  p.top_k = 3;
  const std::vector<double> logits{0, 1, 2, 3};
  const std::vector<std::int64_t> table{2, 0, 2};  // repeated ids are legal
  const std::vector<int> ids{2, 0, 2};
  const RoutedRow routed = WeighChosen(RuleFor(p), {}, logits, ids);
  std::vector<float> weights(routed.weights.begin(), routed.weights.end());
  const auto judge = [&](std::vector<std::uint32_t> chosen) {
    const auto error = JudgeRoute(p, {logits, {}, table}, {chosen, weights, {}});
    return error ? error->error_class : "right";
  };
  EXPECT_EQ(judge({2, 0, 2}), "right");
  EXPECT_EQ(judge({2, 2, 0}), "wrong_selection");
  EXPECT_EQ(judge({2, 0, 4}), "illegal_id");
  weights[1] *= 1.00001f;
  EXPECT_EQ(judge({2, 0, 2}), "wrong_weight");
}

// Outputs 4 and 5 are identity experts: scores 0.4, 0.3, 0.2, 0.1 of outputs 4, 1, 5, 0.
TEST(JudgeRoute, SlotsOfIdentityExpertsAreJudgedByTheSumOfTheirWeights) {
  Problem p;
  p.router = RouterKind::kSoftmaxBias;
  p.experts = 4;
  p.zero_experts = 2;
  p.top_k = 3;
  std::vector<double> logits;
  for (const double score : {0.1, 0.3, 1e-9, 1e-9, 0.4, 0.2}) logits.push_back(std::log(score));
  const auto judge = [&](std::vector<std::uint32_t> ids, std::vector<float> weights, float sum) {
    const auto error = JudgeRoute(p, {logits, {}, {}}, {ids, weights, sum});
    return error ? error->error_class : "right";
  };
  EXPECT_EQ(judge({0, 1, 0}, {0, 0.3f, 0}, 0.6f), "right");
  EXPECT_EQ(judge({0, 1, 0}, {0, 0.3f, 0}, 0.5f), "wrong_weight");
  EXPECT_EQ(judge({1, 0, 0}, {0.3f, 0, 0}, 0.6f), "order");
  EXPECT_EQ(judge({0, 1, 0}, {0, 0.3f, 0.1f}, 0.4f), "wrong_selection");
  EXPECT_EQ(judge({0, 0, 0}, {0, 0, 0}, 0.6f), "wrong_selection");
  const std::vector<std::uint32_t> plain{4, 1, 5};
  const std::vector<float> weights{0.4f, 0.3f, 0.2f};
  EXPECT_EQ(JudgeRoute(p, {logits, {}, {}}, {plain, weights, {}}), std::nullopt);
}

TEST(JudgeRoute, WantsRowsRefusedThatCannotBeRoutedAndNoOthers) {
  Problem p;
  p.experts = 3;
  p.top_k = 2;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::uint32_t> refused = {kNoExpert, kNoExpert}, repeated = {0, 0};
  const std::vector<float> zeros = {0, 0}, ones = {1, 0};
  const std::vector<double> one_left = {1, nan, nan}, all_left = {1, 2, 3};
  EXPECT_FALSE(JudgeRoute(p, one_left, {}, refused, zeros));
  EXPECT_EQ(JudgeRoute(p, one_left, {}, repeated, ones)->error_class, "wrong_selection");
  EXPECT_EQ(JudgeRoute(p, one_left, {}, refused, ones)->error_class, "wrong_selection");
  EXPECT_EQ(JudgeRoute(p, all_left, {}, refused, zeros)->error_class, "wrong_selection");
}

}  // namespace
}  // namespace assay
