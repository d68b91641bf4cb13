#include "reference/router_rule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/router_cases.h"
#include "reference/routing.h"

namespace assay {
namespace {

using router_cases::DrawCase;
using router_cases::RouterCase;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

RouterRule Rule(int experts, int top_k, Scoring scoring = Scoring::kSoftmax) {
  RouterRule rule;
  rule.experts = experts;
  rule.top_k = top_k;
  rule.scoring = scoring;
  return rule;
}

TEST(RouterRule, LogitsThatAreNotFiniteAreNeverChosenAndTakeNoPart) {
  const std::vector<double> logits{kNan, 1, kInfinity, 2, -kInfinity, 0};
  for (const Scoring scoring : {Scoring::kSoftmax, Scoring::kSigmoid, Scoring::kSqrtsoftplus}) {
    const RoutedRow row = RouteRow(Rule(6, 3, scoring), {}, logits);
    EXPECT_EQ(row.ids, (std::vector<int>{3, 1, 5}));
    EXPECT_EQ(row.weights, RouteRow(Rule(3, 3, scoring), {}, std::vector<double>{1, 2, 0}).weights);
  }
}

TEST(RouterRule, TooFewFiniteLogitsAreRefusedByName) {
  const std::vector<double> logits{kNan, 1, kInfinity, 2};
  const RoutedRow row = RouteRow(Rule(4, 3), {}, logits);
  ASSERT_TRUE(row.refusal);
  EXPECT_NE(row.refusal->find("2 experts with a finite logit: top_k=3"), std::string::npos);
  EXPECT_TRUE(row.ids.empty());
}

TEST(RouterRule, AHashTableIsRefusedWhereItNamesWhatCannotBeChosen) {
  RouterRule rule = Rule(4, 2, Scoring::kSqrtsoftplus);
  rule.selection = SelectionKind::kHash;
  const std::vector<double> logits{0, 1, kNan, 2};
  const std::vector<std::int64_t> far{0, 4}, negative{-1, 0}, nan{2, 0}, twice{3, 3}, few{1};
  EXPECT_TRUE(RouteRow(rule, {{}, {}, {}, far}, logits).refusal);
  EXPECT_TRUE(RouteRow(rule, {{}, {}, {}, negative}, logits).refusal);
  EXPECT_TRUE(RouteRow(rule, {{}, {}, {}, nan}, logits).refusal);
  EXPECT_TRUE(RouteRow(rule, {{}, {}, {}, few}, logits).refusal);
  EXPECT_TRUE(RouteRow(rule, {}, logits).refusal);
  EXPECT_EQ(RouteRow(rule, {{}, {}, {}, twice}, logits).ids, (std::vector<int>{3, 3}));
}

// log(1 + exp(x)) = x + exp(-x) - ... for large x and exp(x) for very negative x: both to double
// precision, over the range where the naive form overflows or is zero.
TEST(RouterRule, SqrtsoftplusIsStableUpToTwoHundred) {
  for (double x = 40; x <= 200; x += 5) {
    EXPECT_DOUBLE_EQ(RouteRow(Rule(1, 1, Scoring::kSqrtsoftplus), {}, {{x}}).weights[0],
                     std::sqrt(x));
    EXPECT_DOUBLE_EQ(RouteRow(Rule(1, 1, Scoring::kSqrtsoftplus), {}, {{-x}}).weights[0],
                     std::exp(-x / 2));
  }
}

TEST(RouterRule, ZeroExpertsLeaveTheirSlotAndAreSummed) {
  RouterRule rule = Rule(3, 3);
  rule.zero_experts = 2;
  RoutedRow row = RouteRow(rule, {}, std::vector<double>{0, 1, 2, 4, 3});
  EXPECT_EQ(row.ids, (std::vector<int>{3, 4, 2}));
  const std::vector<double> before = row.weights;
  EXPECT_EQ(TakeZeroExperts(rule, row), before[0] + before[1]);
  EXPECT_EQ(row.ids, (std::vector<int>{0, 0, 2}));
  EXPECT_EQ(row.weights, (std::vector<double>{0, 0, before[2]}));
}

TEST(RouterRule, TheCorrectionBiasChoosesButDoesNotWeigh) {
  const std::vector<double> bias{0, 0, 10};
  const RoutedRow row = RouteRow(Rule(3, 1, Scoring::kSigmoid), {{}, bias, {}, {}}, {{3, 2, 0}});
  EXPECT_EQ(row.ids, (std::vector<int>{2}));
  EXPECT_EQ(row.weights[0], 0.5);
}

// Scores .5 each; sum 1.5 (of three).
TEST(RouterRule, EveryNormalisationDividesByItsOwnSum) {
  const std::vector<double> logits{0, 0, 0};
  const auto weight = [&](WeightNorm norm, double eps, double p) {
    RouterRule rule = Rule(3, 3, Scoring::kSigmoid);
    rule.norm = norm;
    rule.eps = eps;
    rule.p = p;
    return RouteRow(rule, {}, logits).weights[2];
  };
  EXPECT_EQ(weight(WeightNorm::kNone, 0, 1), 0.5);
  EXPECT_EQ(weight(WeightNorm::kSumPlusEps, 0.5, 1), 0.25);
  EXPECT_EQ(weight(WeightNorm::kSumAtLeastEps, 2, 1), 0.25);
  EXPECT_EQ(weight(WeightNorm::kSumAtLeastEps, 1e-20, 1), 0.5 / 1.5);
  EXPECT_EQ(weight(WeightNorm::kSumAboveEps, 2, 1), 0.5);
  EXPECT_DOUBLE_EQ(weight(WeightNorm::kPNorm, 0, 2), 0.5 / std::sqrt(0.75));
}

TEST(RouterRule, LogitsAreCappedThenStored) {
  RouterRule rule = Rule(1, 1);
  rule.soft_cap = 30;
  EXPECT_EQ(StoredLogit(rule, 10, 5), std::tanh(0.5) * 30);
  rule.soft_cap.reset();
  rule.store = LogitStore::kBf16;
  EXPECT_EQ(StoredLogit(rule, 1 + 0x1p-9, 0), 1);
  rule.store = LogitStore::kFp32;
  EXPECT_EQ(StoredLogit(rule, 1 + 0x1p-9 + 0x1p-40, 0), 1 + 0x1p-9);
}

TEST(RouterRule, ThePreNormDividesByTheRootMeanSquare) {
  const std::vector<double> x{3, 4}, weight{2, 1}, vector{1, 10};
  const double root = std::sqrt(12.5 + 0.5);
  EXPECT_EQ(Normed({0.5, weight, vector, 0.25}, x),
            (std::vector<double>{3 / root * 2 * 0.25, 4 / root * 10 * 0.25}));
}

// The FP32 evaluation in plain float arithmetic, naive forms, other order of the sums.
float FloatScore(Scoring scoring, float l, float max, float sum) {
  if (scoring == Scoring::kSoftmax) return std::exp(l - max) / sum;
  if (scoring == Scoring::kSigmoid) return 1.0f / (1.0f + std::exp(-l));
  return std::sqrt(std::fmax(l, 0.0f) + std::log1p(std::exp(-std::fabs(l))));
}

std::vector<float> FloatWeights(const RouterCase& c, const std::vector<int>& ids) {
  float max = -HUGE_VALF, sum = 0, chosen_sum = 0;
  for (const double l : c.logits) max = std::fmax(max, static_cast<float>(l));
  for (std::size_t e = c.logits.size(); e-- > 0;) sum += std::exp(float(c.logits[e]) - max);
  std::vector<float> weights;
  for (const int id : ids)
    weights.push_back(FloatScore(c.rule.scoring, float(c.logits[id]), max, sum));
  for (const float w : weights) chosen_sum += w;
  const auto eps = static_cast<float>(c.rule.eps);
  for (float& w : weights) {
    if (c.rule.norm == WeightNorm::kSumPlusEps) w /= chosen_sum + eps;
    if (c.rule.norm == WeightNorm::kSumAtLeastEps) w /= std::fmax(chosen_sum, eps);
    if (c.rule.norm == WeightNorm::kSumAboveEps && chosen_sum > eps) w *= 1 / chosen_sum;
    if (c.rule.scaled_at == ScaledAt::kWeights) w *= 2.5f;
  }
  return weights;
}

TEST(RouterRule, FloatEvaluationsStayWithinTheBounds) {
  int judged = 0;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    RouterCase c = DrawCase(seed);
    for (double& l : c.logits) l = static_cast<float>(l);
    c.rule.selection = SelectionKind::kTopk;
    c.rule.scope = ScoreScope::kAllExperts;
    c.per_expert_scale.clear();
    c.rule.eps = 0x1p-7;  // a float
    if (c.rule.norm == WeightNorm::kPNorm) continue;
    const RoutedRow row = RouteRow(c.rule, c.Tensors(), c.logits);
    if (row.refusal) continue;
    // Where the sum lies at the threshold, float may take the other branch.
    const std::vector<float> got = FloatWeights(c, row.ids);
    for (std::size_t i = 0; i < got.size(); ++i, ++judged)
      ASSERT_LE(std::fabs(got[i] - row.weights[i]), row.bounds[i]) << "seed " << seed;
  }
  EXPECT_GT(judged, 3000);
}

// The two routers that the paths have today, by the functions that judge them.
TEST(RouterRule, AgreesWithTheRoutersOfThePaths) {
  for (const RouterKind kind : {RouterKind::kSoftmax, RouterKind::kSigmoidBias})
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      router_cases::Draw draw(seed);
      Problem p;
      p.router = kind;
      p.top_k = 1 + draw.Below(4);
      p.norm = draw.Coin();
      p.scale = kind == RouterKind::kSoftmax ? 1 : 2.5;
      std::vector<double> logits, correction;
      std::vector<float> bias;
      for (int e = 0; e < p.experts; ++e) logits.push_back(draw.Bell(2));
      if (kind == RouterKind::kSigmoidBias)
        for (int e = 0; e < p.experts; ++e) bias.push_back(static_cast<float>(draw.Bell(0.2)));
      correction.assign(bias.begin(), bias.end());
      const RoutedRow row = RouteRow(RuleFor(p), {{}, correction, {}, {}}, logits);
      EXPECT_EQ(row.ids, TopK(SelectionScores(p, logits, bias), p.top_k));
      const WeightsExpected expected = RouteWeights(p, logits, row.ids);
      for (int i = 0; i < p.top_k; ++i) EXPECT_DOUBLE_EQ(row.weights[i], expected.weights[i]);
    }
}

}  // namespace
}  // namespace assay
