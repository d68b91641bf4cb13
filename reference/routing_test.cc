#include "reference/routing.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reference/bf16.h"
#include "reference/router_expected.h"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

using Ids = std::vector<int>;

TEST(Topk, OrdersByScore) { EXPECT_EQ(TopK(std::vector<double>{1, 3, 2, 0}, 3), (Ids{1, 2, 0})); }

TEST(Topk, LowerIndexWinsATie) {
  EXPECT_EQ(TopK(std::vector<double>{1, 2, 2, 2}, 2), (Ids{1, 2}));
  std::vector<double> scores(512, 0.0);
  scores[1] = scores[2] = scores[300] = scores[100] = 5;
  EXPECT_EQ(TopK(scores, 3), (Ids{1, 2, 100}));
}

TEST(Topk, NeverChoosesNanOrMinusInfinity) {
  EXPECT_EQ(TopK(std::vector<double>{kNan, -kInfinity, -1e300, kNan, kInfinity}, 3), (Ids{4, 2}));
}

// All points of a small grid inside the boxes, tried one by one.
bool SomePointHasTopK(const std::vector<double>& low, const std::vector<double>& high,
                      const Ids& chosen) {
  const std::size_t n = low.size();
  std::size_t points = 1;
  for (std::size_t i = 0; i < n; ++i) points *= 3;
  for (std::size_t point = 0; point < points; ++point) {
    double worst_in = kInfinity, best_out = -kInfinity;
    std::size_t rest = point;
    for (std::size_t i = 0; i < n; ++i, rest /= 3) {
      const double score = low[i] + (high[i] - low[i]) / 2 * double(rest % 3);
      const bool in = std::find(chosen.begin(), chosen.end(), int(i)) != chosen.end();
      if (in) worst_in = std::min(worst_in, score);
      if (!in) best_out = std::max(best_out, score);
    }
    if (worst_in >= best_out) return true;
  }
  return false;
}

RC_GTEST_PROP(BoxTest, AgreesWithTryingEveryCorner, ()) {
  const int n = *rc::gen::inRange(2, 7), k = *rc::gen::inRange(1, n);
  std::vector<double> low, high;
  for (int i = 0; i < n; ++i) {
    low.push_back(*rc::gen::inRange(-4, 5));
    high.push_back(low.back() + *rc::gen::inRange(0, 4));
  }
  Ids chosen(n);
  std::iota(chosen.begin(), chosen.end(), 0);
  for (int i = 0; i < k; ++i) std::swap(chosen[i], chosen[*rc::gen::inRange(i, n)]);
  chosen.resize(k);
  RC_ASSERT(Admissible(low, high, chosen) == SomePointHasTopK(low, high, chosen));
}

RC_GTEST_PROP(MayBeChosen, HoldsEveryExpertOfEveryPoint, ()) {
  const int n = *rc::gen::inRange(1, 12), k = *rc::gen::inRange(1, n + 1);
  std::vector<Interval> boxes;
  std::vector<double> point;
  for (int i = 0; i < n; ++i) {
    const double low = *rc::gen::inRange(-6, 7), width = *rc::gen::inRange(0, 4);
    boxes.push_back({low, low + width});
    point.push_back(low + *rc::gen::inRange(0, static_cast<int>(width) + 1));
  }
  const Ids may = MayBeChosen(boxes, k);
  for (const int e : TopK(point, k)) RC_ASSERT(std::count(may.begin(), may.end(), e) == 1);
  RC_ASSERT(static_cast<int>(may.size()) >= k);
}

TEST(MayBeChosen, IsTheTopKWhenScoresAreCertain) {
  const std::vector<Interval> scores{{1, 1}, {2, 2}, {2, 2}, {2, 2}};
  EXPECT_EQ(MayBeChosen(scores, 2), (Ids{1, 2}));
}

// An FP32 router as a kernel writes it, for the bounds: sums in index order or in reverse.
std::vector<float> Fp32Weights(const Problem& p, const std::vector<double>& logits, const Ids& ids,
                               bool reverse) {
  const auto exp32 = [](float x) { return std::exp(x); };
  std::vector<float> scores(logits.begin(), logits.end()), weights;
  if (p.router == RouterKind::kSoftmax) {
    const float max = *std::max_element(scores.begin(), scores.end());
    for (float& s : scores) s = exp32(s - max);
    const float sum = reverse ? std::accumulate(scores.rbegin(), scores.rend(), 0.0f)
                              : std::accumulate(scores.begin(), scores.end(), 0.0f);
    for (float& s : scores) s /= sum;
  } else {
    for (float& s : scores) s = 1.0f / (1.0f + exp32(-s));
  }
  for (const int id : ids) weights.push_back(scores[id]);
  const float sum = reverse ? std::accumulate(weights.rbegin(), weights.rend(), 0.0f)
                            : std::accumulate(weights.begin(), weights.end(), 0.0f);
  for (float& w : weights) {
    if (p.norm && (p.router == RouterKind::kSoftmax || sum > 1e-20f)) w /= sum;
    if (p.router == RouterKind::kSigmoidBias) w *= static_cast<float>(p.scale);
  }
  return weights;
}

struct RandomRow {
  Problem problem;
  std::vector<double> logits;
  std::vector<float> bias;
};

RandomRow DrawRow() {
  RandomRow row;
  row.problem.experts = *rc::gen::inRange(1, 80);
  row.problem.top_k = *rc::gen::inRange(1, std::min(row.problem.experts, 8) + 1);
  row.problem.norm = *rc::gen::arbitrary<bool>();
  row.problem.router = *rc::gen::element(RouterKind::kSoftmax, RouterKind::kSigmoidBias);
  row.problem.scale = *rc::gen::element(1.0, 2.5, 0.7);
  const double unit = *rc::gen::element(0.01, 0.05, 1.0);  // few distinct values: many ties
  for (int e = 0; e < row.problem.experts; ++e) {
    row.logits.push_back(RoundToBf16(unit * *rc::gen::inRange(-60, 61)));
    if (row.problem.router == RouterKind::kSigmoidBias)
      row.bias.push_back(0.125f * static_cast<float>(*rc::gen::inRange(-2, 3)));
  }
  return row;
}

// The FP32 scores that the path ranks.
Ids Fp32TopK(const RandomRow& row) {
  std::vector<double> scores = row.logits;
  if (row.problem.router == RouterKind::kSigmoidBias)
    for (std::size_t e = 0; e < scores.size(); ++e)
      scores[e] = 1.0f / (1.0f + std::exp(-static_cast<float>(scores[e]))) + row.bias[e];
  return TopK(scores, row.problem.top_k);
}

std::optional<RoutingError> Judge(const RandomRow& row, const Ids& ids,
                                  const std::vector<float>& weights) {
  return JudgeRoute(row.problem, row.logits, row.bias,
                    std::vector<std::uint32_t>(ids.begin(), ids.end()), weights);
}

RC_GTEST_PROP(JudgeRoute, AcceptsAnFp32RouterInEitherOrderOfSums, ()) {
  const RandomRow row = DrawRow();
  const Ids ids = Fp32TopK(row);
  for (const bool reverse : {false, true}) {
    const auto error = Judge(row, ids, Fp32Weights(row.problem, row.logits, ids, reverse));
    if (error) RC_FAIL(error->error_class + ": " + error->summary);
  }
}

RC_GTEST_PROP(JudgeRoute, RejectsAWeightThatIsOffByATenThousandth, ()) {
  const RandomRow row = DrawRow();
  const Ids ids = Fp32TopK(row);
  std::vector<float> weights = Fp32Weights(row.problem, row.logits, ids, false);
  const int slot = *rc::gen::inRange(0, row.problem.top_k);
  RC_PRE(weights[slot] > 1e-30f);
  weights[slot] *= 1.0001f;
  const auto error = Judge(row, ids, weights);
  RC_ASSERT(error.has_value());
  RC_ASSERT(error->error_class == "wrong_weight");
}

// The class of what is wrong with `ids`, for logits 3 1 3 2 3.
std::string ClassOf(std::vector<std::uint32_t> ids, RouterKind router = RouterKind::kSoftmax) {
  Problem p;
  p.experts = 5;
  p.top_k = static_cast<int>(ids.size());
  p.router = router;
  const std::vector<double> logits{3, 1, 3, 2, 3};
  const std::vector<float> bias(router == RouterKind::kSoftmax ? 0 : 5, 0.5f);
  std::vector<float> weights;
  if (std::all_of(ids.begin(), ids.end(), [](auto id) { return id < 5; }))
    weights = Fp32Weights(p, logits, Ids(ids.begin(), ids.end()), false);
  weights.resize(ids.size());
  const auto error = JudgeRoute(p, logits, bias, ids, weights);
  return error ? error->error_class : "right";
}

TEST(JudgeRoute, NamesWhatIsWrong) {
  for (const RouterKind router : {RouterKind::kSoftmax, RouterKind::kSigmoidBias}) {
    EXPECT_EQ(ClassOf({0, 2}, router), "right");
    EXPECT_EQ(ClassOf({0, 2, 4, 3}, router), "right");
    EXPECT_EQ(ClassOf({0, 5}, router), "illegal_id");
    EXPECT_EQ(ClassOf({0, 0}, router), "repeated_id");
    EXPECT_EQ(ClassOf({0, 3}, router), "wrong_selection");
    EXPECT_EQ(ClassOf({0, 4}, router), "tie_rule");
    EXPECT_EQ(ClassOf({2, 0}, router), "tie_rule");
    EXPECT_EQ(ClassOf({0, 2, 3, 4}, router), "order");
  }
}

TEST(JudgeRoute, NeverAcceptsANanLogit) {
  Problem p;
  p.experts = 3;
  p.top_k = 1;
  const auto error = JudgeRoute(p, std::vector<double>{1, kNan, 0}, {},
                                std::vector<std::uint32_t>{1}, std::vector<float>{1});
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->error_class, "wrong_selection");
}

TEST(RouteWeights, SoftmaxIgnoresTheScale) {
  Problem p;
  p.experts = 2;
  p.top_k = 1;
  p.norm = false;
  p.scale = 2.5;
  const std::vector<double> logits{0, std::log(3.0)};
  EXPECT_NEAR(RouteWeights(p, logits, Ids{1}).weights[0], 0.75, 1e-15);  // a few double roundings
}

TEST(RouteWeights, SigmoidIsNormalisedThenScaled) {
  Problem p;
  p.experts = 3;
  p.top_k = 2;
  p.router = RouterKind::kSigmoidBias;
  p.scale = 2.5;
  const auto w = RouteWeights(p, std::vector<double>{0, 0, -100}, Ids{0, 1});
  EXPECT_EQ(w.weights, (std::vector<double>{1.25, 1.25}));
}

TEST(RouteWeights, ATinySumIsNotDivided) {
  Problem p;
  p.experts = 1;
  p.top_k = 1;
  p.router = RouterKind::kSigmoidBias;
  const auto w = RouteWeights(p, std::vector<double>{-50}, Ids{0});
  EXPECT_LT(w.weights[0], 1e-20);
}

// FP32 has exp(107) = inf, so the sigmoid is 0; the exact value is below the smallest subnormal,
// but division by a sum of 4.7e-13 carries the difference far above 2^-126.
TEST(RouteWeights, AnUnderflowedSigmoidIsAdmissibleAfterNormalisationAndScaling) {
  Problem p;
  p.experts = 2;
  p.top_k = 2;
  p.router = RouterKind::kSigmoidBias;
  const auto w = RouteWeights(p, std::vector<double>{-107, -28.4}, Ids{0, 1});
  EXPECT_GT(w.weights[0], 0x1p-126);
  EXPECT_GE(w.bound[0], w.weights[0]);
  p.top_k = 1;
  p.scale = 1e6;
  const auto scaled = RouteWeights(p, std::vector<double>{-95}, Ids{0});
  EXPECT_GE(scaled.bound[0], scaled.weights[0]);
}

}  // namespace
}  // namespace assay
