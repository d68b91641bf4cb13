// Whole layers of every router, activation and drawn format: FP32 evaluations written apart stay
// inside what the reference admits, wrong ones leave it.
#include <gtest/gtest.h>

#include <algorithm>

#include "reference/fp32_router.h"
#include "reference/router_expected.h"
#include "reference/tokens.h"

namespace assay {
namespace {

using fp32_model::Floats;

Problem BaseOf(RouterKind kind, std::uint64_t seed) {
  Problem p;
  p.router = kind;
  p.seed = seed;
  p.rows = 2;
  p.hidden = 64;
  p.inter = 32;
  p.experts = 12;
  p.top_k = kind == RouterKind::kSigmoidTop1 ? 1 : 3;
  p.format = seed % 2 == 0 ? Format::kNvfp4 : Format::kFp8Block;
  if (kind != RouterKind::kSoftmax && kind != RouterKind::kTopkSoftmax) p.scale = 1.5;
  if (kind == RouterKind::kSoftmaxBias) p.zero_experts = 5;
  if (kind == RouterKind::kGroupedSigmoidBias) {
    p.groups = 4;
    p.groups_kept = 2;
  }
  if (seed % 3 == 0) p.shared = p.format;
  p.norm = seed % 5 != 0;
  return p;
}

// Options of the router by the bits of the seed.
Problem ProblemOf(RouterKind kind, std::uint64_t seed) {
  Problem p = BaseOf(kind, seed);
  p.pre_norm = (seed & 2) != 0;
  p.fp32_gate = (seed & 4) != 0;
  p.router_bias = (seed & 8) != 0;
  if ((seed & 16) != 0) p.gate_format = Format::kNvfp4;
  return p;
}

RouteInputs InputsOf(const LayerData& layer, const fp32_router::Routed& routed, int row) {
  RouteInputs inputs = RouteInputsOf(layer, row);
  const auto outputs = static_cast<std::size_t>(layer.problem.RouterOutputs());
  inputs.logits = std::span(routed.logits).subspan(std::size_t(row) * outputs, outputs);
  return inputs;
}

RouteChoice ChoiceOf(const Problem& p, const Selection& s, int row) {
  const auto first = std::size_t(row) * p.top_k;
  return {
      std::span(s.ids).subspan(first, p.top_k), std::span(s.weights).subspan(first, p.top_k), {}};
}

void ExpectLogitsHeld(const RouterExpected& expected, const std::vector<double>& logits) {
  ASSERT_EQ(expected.stored.size(), logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    EXPECT_TRUE(expected.stored[i].Holds(logits[i])) << i;
}

void ExpectRouteRight(const LayerData& layer, const LayerReference& reference,
                      const fp32_router::Routed& routed) {
  const Problem& p = layer.problem;
  const auto outputs = static_cast<std::size_t>(p.RouterOutputs());
  for (int row = 0; row < p.rows; ++row) {
    const RouteChoice choice = ChoiceOf(p, routed.selection, row);
    const auto error = JudgeRoute(p, InputsOf(layer, routed, row), choice);
    EXPECT_FALSE(error) << error->error_class << ": " << error->summary;
    const auto boxes = std::span<const Interval>(reference.Router().stored)
                           .subspan(std::size_t(row) * outputs, outputs);
    EXPECT_TRUE(AdmissibleIds(p, boxes, RouteInputsOf(layer, row), choice));
    const std::vector<int>& may = reference.Router().may[row];
    for (const std::uint32_t id : choice.ids)
      EXPECT_EQ(std::count(may.begin(), may.end(), static_cast<int>(id)), 1) << id;
  }
}

class EveryRouter : public testing::TestWithParam<RouterKind> {};

TEST_P(EveryRouter, ItsFp32EvaluationIsAdmitted) {
  for (std::uint64_t seed = 0; seed < 96; ++seed) {
    SCOPED_TRACE(seed);
    const LayerData layer = BuildLayer(ProblemOf(GetParam(), seed));
    const LayerReference reference(layer);
    const auto dot = seed % 2 == 0 ? fp32_model::LanesAndTree : fp32_model::BackwardUnfused;
    const fp32_router::Routed routed = fp32_router::Route(layer, dot);
    ExpectLogitsHeld(reference.Router(), routed.logits);
    ExpectRouteRight(layer, reference, routed);
    const OutputExpected expected = reference.Evaluate(routed.selection);
    const Floats output = fp32_model::RunModel({dot}, layer, routed.selection);
    EXPECT_EQ(fp32_model::Outside(expected, output), 0);
    if (testing::Test::HasFailure()) return;
  }
}

// The bounds made for the declared orders hold for them, the norm and the packed gate included.
TEST_P(EveryRouter, TheDeclaredOrdersAreAdmittedByTheirOwnBounds) {
  for (std::uint64_t seed = 0; seed < 32; ++seed) {
    SCOPED_TRACE(seed);
    const LayerData layer = BuildLayer(ProblemOf(GetParam(), seed));
    const LayerReference reference(layer, Accumulation::kChainOrLanes);
    const fp32_router::Routed routed = fp32_router::Route(layer, fp32_model::LanesAndTree);
    ExpectLogitsHeld(reference.Router(), routed.logits);
    const Floats output =
        fp32_model::RunModel({fp32_model::LanesOfSixteen}, layer, routed.selection);
    EXPECT_EQ(fp32_model::Outside(reference.Evaluate(routed.selection), output), 0);
  }
}

// One expert exchanged for another that no logits within the bounds choose, with its own weight.
TEST_P(EveryRouter, AnExpertThatMayNotBeChosenIsRejected) {
  int exchanged = 0;
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    const LayerData layer = BuildLayer(ProblemOf(GetParam(), seed));
    const Problem& p = layer.problem;
    const RouterExpected router = ExpectRouter(layer);
    fp32_router::Routed routed = fp32_router::Route(layer, fp32_model::Forward);
    for (int wrong = 0; wrong < p.RouterOutputs(); ++wrong) {
      if (std::count(router.may[0].begin(), router.may[0].end(), wrong) > 0) continue;
      routed.selection.ids[std::size_t(p.top_k) - 1] = static_cast<std::uint32_t>(wrong);
      const auto error =
          JudgeRoute(p, InputsOf(layer, routed, 0), ChoiceOf(p, routed.selection, 0));
      ASSERT_TRUE(error) << seed << " expert " << wrong;
      EXPECT_EQ(error->error_class, "wrong_selection");
      ++exchanged;
    }
  }
  EXPECT_GT(exchanged, 50);
}

// Identity experts as the paths write them: slots of weight 0 and one weight for the input.
TEST(IdentityExperts, TwoWaysToWriteThemAreOneLayer) {
  const LayerData layer = BuildLayer(ProblemOf(RouterKind::kSoftmaxBias, 0));
  const Problem& p = layer.problem;
  const fp32_router::Routed routed = fp32_router::Route(layer, fp32_model::Forward);
  Selection folded = routed.selection;
  folded.identity_weights.assign(p.rows, 0);
  int identity = 0;
  for (std::size_t slot = 0; slot < folded.ids.size(); ++slot) {
    if (folded.ids[slot] < unsigned(p.experts)) continue;
    folded.identity_weights[slot / p.top_k] += folded.weights[slot];
    folded.ids[slot] = 0;
    folded.weights[slot] = 0;
    ++identity;
  }
  ASSERT_GT(identity, 0);
  const LayerReference reference(layer);
  const auto one = reference.Evaluate(routed.selection), other = reference.Evaluate(folded);
  for (std::size_t i = 0; i < one.exact.size(); ++i)
    EXPECT_NEAR(one.exact[i], other.exact[i], 1e-6 * std::fabs(one.exact[i]) + 1e-6);  // FP32 sums
  const std::vector<double> exact = reference.Exact(folded);
  for (std::size_t i = 0; i < exact.size(); ++i) EXPECT_NEAR(exact[i], other.exact[i], 1e-12);
  for (int row = 0; row < p.rows; ++row) {
    RouteChoice choice = ChoiceOf(p, folded, row);
    choice.identity_weight = folded.identity_weights[row];
    const auto error = JudgeRoute(p, InputsOf(layer, routed, row), choice);
    EXPECT_FALSE(error) << error->summary;
  }
}

INSTANTIATE_TEST_SUITE_P(Routers, EveryRouter,
                         testing::Values(RouterKind::kSoftmax, RouterKind::kSigmoidBias,
                                         RouterKind::kSqrtsoftplusBias, RouterKind::kSoftmaxBias,
                                         RouterKind::kHash, RouterKind::kGroupedSigmoidBias,
                                         RouterKind::kTopkSoftmax, RouterKind::kSigmoidTop1),
                         [](const auto& info) { return std::string(Token(info.param)); });

struct ExpertCase {
  const char* name;
  Format format;
  Activation activation;
  double limit;
  bool bias;
};

class EveryExpert : public testing::TestWithParam<ExpertCase> {};

Problem ProblemOf(const ExpertCase& c, std::uint64_t seed) {
  Problem p;
  p.format = c.format;
  p.activation = c.activation;
  p.limit = c.limit;
  p.expert_bias = c.bias;
  p.hidden = 160;  // ragged blocks of 128
  p.inter = 96;
  p.seed = seed;
  if (seed % 2 == 0) p.shared = Format::kBf16;
  p.data = seed % 5 == 4 ? DataDraw::kExtreme : DataDraw::kGauss;
  return p;
}

TEST_P(EveryExpert, FitsItsFp32Evaluations) {
  for (std::uint64_t seed = 0; seed < 15; ++seed) {
    SCOPED_TRACE(seed);
    const LayerData layer = BuildLayer(ProblemOf(GetParam(), seed));
    const LayerReference any(layer), declared(layer, Accumulation::kChainOrLanes);
    const Selection s = fp32_model::Choose(layer, any.Router());
    const OutputExpected expected = any.Evaluate(s);
    EXPECT_EQ(fp32_model::Outside(expected,
                                  fp32_model::RunModel({fp32_model::BackwardUnfused}, layer, s)),
              0);
    EXPECT_EQ(fp32_model::Outside(declared.Evaluate(s),
                                  fp32_model::RunModel({fp32_model::LanesOfSixteen}, layer, s)),
              0);
    const std::vector<double> exact = any.Exact(s);
    double largest = 0;
    for (const double y : expected.exact) largest = std::max(largest, std::fabs(y));
    for (std::size_t i = 0; i < exact.size(); ++i)
      EXPECT_NEAR(exact[i], expected.exact[i], 1e-12 * largest);  // the same sums in other orders
  }
}

// Leaving out what makes the layer special leaves the set.
TEST_P(EveryExpert, ItsFeaturesMatter) {
  const ExpertCase c = GetParam();
  if (c.activation == Activation::kSilu && c.limit == 0 && !c.bias) return;
  const LayerData layer = BuildLayer(ProblemOf(c, 0));
  LayerData plain = layer;
  plain.problem.limit = 0;
  if (c.activation != Activation::kRelu2) plain.problem.activation = Activation::kSilu;
  for (auto& [id, e] : plain.experts) e.gate_bias = e.up_bias = e.down_bias = {};
  const LayerReference reference(layer);
  const Selection s = fp32_model::Choose(layer, reference.Router());
  const Floats wrong = fp32_model::RunModel({}, plain, s);
  const long outside = fp32_model::Outside(reference.Evaluate(s), wrong);
  if (c.activation == Activation::kRelu2 && !c.bias)
    EXPECT_EQ(outside, 0);  // nothing was left out
  else
    EXPECT_GT(outside, layer.problem.hidden / 4);
}

INSTANTIATE_TEST_SUITE_P(
    Experts, EveryExpert,
    testing::Values(ExpertCase{"fp8_block", Format::kFp8Block, Activation::kSilu, 0, false},
                    ExpertCase{"fp8_channel", Format::kFp8Channel, Activation::kSilu, 0, false},
                    ExpertCase{"int4_g32", Format::kInt4G32, Activation::kSilu, 0, false},
                    ExpertCase{"mxfp8", Format::kMxfp8, Activation::kSilu, 0, false},
                    ExpertCase{"clamped", Format::kMxfp4, Activation::kSilu, 0.75, false},
                    ExpertCase{"gelu", Format::kBf16, Activation::kGeluTanh, 0, false},
                    ExpertCase{"gpt_oss", Format::kMxfp4, Activation::kSwigluOai, 1.5, true},
                    ExpertCase{"relu2", Format::kNvfp4, Activation::kRelu2, 0, false},
                    ExpertCase{"relu2_bias", Format::kFp8Block, Activation::kRelu2, 0, true}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace assay
