// The interval reference against FP32 evaluations of the contract in several orders, written here
// independently: own decoders, own loops, float arithmetic.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "reference/bf16.h"
#include "reference/error.h"
#include "reference/expected.h"
#include "reference/routing.h"

namespace assay {
namespace {

using Floats = std::vector<float>;

// 2^(code - 127) for codes 1..254.
float PowerByBits(int code) { return std::bit_cast<float>(std::uint32_t(code) << 23); }

float E2m1ByHand(int code) {
  static constexpr float kMagnitudes[] = {0, .5f, 1, 1.5f, 2, 3, 4, 6};
  return (code & 8 ? -1.0f : 1.0f) * kMagnitudes[code & 7];
}

float E4m3ByHand(int code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  return exponent == 0 ? mantissa * PowerByBits(127 - 9)
                       : (8 + mantissa) * PowerByBits(127 + exponent - 10);
}

// The weight as a kernel forms it.
float WeightAtPosition(const PackedMatrix& m, int row, int column) {
  const std::size_t at = std::size_t(row) * m.columns + column;
  if (m.format == Format::kBf16)
    return Bf16ToFloat(static_cast<std::uint16_t>(m.payload[2 * at] | m.payload[2 * at + 1] << 8));
  const int code = m.payload[at / 2] >> (column % 2 * 4) & 15;
  if (m.format == Format::kMxfp4) return E2m1ByHand(code) * PowerByBits(m.scales[at / 32]);
  return E2m1ByHand(code) * (E4m3ByHand(m.scales[at / 16]) * m.global_scale);
}

// An order in which a kernel may sum products a[i] * b[i].
using Dot = std::function<float(const Floats&, const Floats&)>;

float Forward(const Floats& a, const Floats& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum = std::fma(a[i], b[i], sum);
  return sum;
}

float BackwardUnfused(const Floats& a, const Floats& b) {
  float sum = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    const float product = a[i] * b[i];
    sum += product;
  }
  return sum;
}

float LanesAndTree(const Floats& a, const Floats& b) {
  float lanes[32] = {};
  for (std::size_t i = 0; i < a.size(); ++i) lanes[i % 32] = std::fma(a[i], b[i], lanes[i % 32]);
  for (int step = 16; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  return lanes[0];
}

float LanesOfSixteen(const Floats& a, const Floats& b) {
  float lanes[32] = {};
  for (std::size_t i = 0; i < a.size(); ++i) {
    float& lane = lanes[i / 16 % 32];
    lane = std::fma(a[i], b[i], lane);
  }
  for (int step = 16; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  return lanes[0];
}

// All positive products first: the largest partial sums.
float SignSorted(const Floats& a, const Floats& b) {
  float positive = 0, negative = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float product = a[i] * b[i];
    (product > 0 ? positive : negative) += product;
  }
  return positive + negative;
}

float ToBf16(float x) { return Bf16ToFloat(FloatToBf16(x)); }
float Truncated(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFF0000u);
}
float Logistic(float x) { return 1.0f / (1.0f + std::exp(-x)); }

// What a kernel does; the defaults are right, every other choice is a fault.
struct Model {
  Dot dot = Forward;
  float (*store)(float) = ToBf16;
  bool act_in_bf16 = false, shared_gate = true, last_slot = true;
};

Floats Column(const LayerData& layer, int row) {
  Floats x;
  for (int i = 0; i < layer.problem.hidden; ++i)
    x.push_back(Bf16ToFloat(layer.input[std::size_t(row) * layer.problem.hidden + i]));
  return x;
}

Floats Times(const Model& model, const PackedMatrix& m, const Floats& x) {
  Floats out, weights(m.columns);
  for (int row = 0; row < m.rows; ++row) {
    for (int i = 0; i < m.columns; ++i) weights[i] = WeightAtPosition(m, row, i);
    out.push_back(model.store(model.dot(weights, x)));
  }
  return out;
}

Floats RunExpert(const Model& model, const ExpertWeights& e, const Floats& x) {
  const Floats gate = Times(model, e.gate, x), up = Times(model, e.up, x);
  Floats act;
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const float g = gate[i];
    const float value = (g / (1.0f + std::exp(-g))) * up[i];
    act.push_back(model.act_in_bf16 ? ToBf16(value) : value);
  }
  return Times(model, e.down, act);
}

void AddScaled(Floats& sum, float weight, const Floats& values) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * values[i];
}

Floats RunRow(const Model& model, const LayerData& layer, const Selection& s, int row) {
  const Problem& p = layer.problem;
  const Floats x = Column(layer, row);
  Floats sum(p.hidden);
  for (int slot = 0; slot < p.top_k - (model.last_slot ? 0 : 1); ++slot) {
    const std::size_t at = std::size_t(row) * p.top_k + slot;
    AddScaled(sum, s.weights[at], RunExpert(model, layer.experts.at(s.ids[at]), x));
  }
  if (layer.shared) {
    Floats gate;
    for (const std::uint16_t bits : layer.shared_gate) gate.push_back(Bf16ToFloat(bits));
    const bool gated = model.shared_gate && !gate.empty();
    AddScaled(sum, gated ? Logistic(model.dot(gate, x)) : 1.0f, RunExpert(model, *layer.shared, x));
  }
  for (float& y : sum) y = model.store(y);
  return sum;
}

Floats RunModel(const Model& model, const LayerData& layer, const Selection& selection) {
  Floats out;
  for (int row = 0; row < layer.problem.rows; ++row) {
    const Floats y = RunRow(model, layer, selection, row);
    out.insert(out.end(), y.begin(), y.end());
  }
  return out;
}

Selection Choose(const LayerData& layer, const RouterExpected& router) {
  const Problem& p = layer.problem;
  Selection selection;
  for (int row = 0; row < p.rows; ++row) {
    std::vector<double> stored;
    for (int e = 0; e < p.experts; ++e)
      stored.push_back(RoundToBf16(router.logits[std::size_t(row) * p.experts + e]));
    const auto ids = TopK(SelectionScores(p, stored, layer.router_bias), p.top_k);
    for (const double w : RouteWeights(p, stored, ids).weights)
      selection.weights.push_back(static_cast<float>(w));
    selection.ids.insert(selection.ids.end(), ids.begin(), ids.end());
  }
  return selection;
}

long Outside(const OutputExpected& expected, const Floats& output) {
  long outside = 0;
  for (std::size_t i = 0; i < output.size(); ++i) outside += !expected.stored[i].Holds(output[i]);
  return outside;
}

Problem DrawProblem() {
  Problem p;
  p.format = *rc::gen::element(Format::kNvfp4, Format::kMxfp4, Format::kBf16);
  p.hidden = 32 * *rc::gen::inRange(1, 5);
  p.inter = 32 * *rc::gen::inRange(1, 5);
  p.rows = *rc::gen::inRange(1, 3);
  p.experts = *rc::gen::inRange(2, 7);
  p.top_k = *rc::gen::inRange(1, std::min(p.experts, 3) + 1);
  p.router = *rc::gen::element(RouterKind::kSoftmax, RouterKind::kSigmoidBias);
  p.data =
      *rc::gen::element(DataDraw::kGauss, DataDraw::kGauss, DataDraw::kHeavy, DataDraw::kOutlier,
                        DataDraw::kPow2, DataDraw::kInteger, DataDraw::kHalf, DataDraw::kZero);
  if (*rc::gen::arbitrary<bool>())
    p.shared = *rc::gen::element(Format::kNvfp4, Format::kMxfp4, Format::kBf16);
  p.shared_gate = *rc::gen::element(SharedGate::kSigmoid, SharedGate::kNone);
  p.seed = *rc::gen::arbitrary<std::uint32_t>();
  return p;
}

// Two orders, one of them drawn: 300 problems and 600 evaluations in a hundred runs of the
// property.
void ExpectAdmitted(const Problem& problem) {
  const LayerData layer = BuildLayer(problem);
  const LayerReference reference(layer);
  const Selection selection = Choose(layer, reference.Router());
  const OutputExpected expected = reference.Evaluate(selection);
  const Dot other = *rc::gen::element(Dot(Forward), Dot(BackwardUnfused), Dot(SignSorted));
  RC_ASSERT(Outside(expected, RunModel({LanesAndTree}, layer, selection)) == 0);
  RC_ASSERT(Outside(expected, RunModel({other}, layer, selection)) == 0);
}

// The orders of the kernels of gpu/, against the bounds made for them.
void ExpectDeclaredOrdersAdmitted(const Problem& problem) {
  const LayerData layer = BuildLayer(problem);
  const LayerReference reference(layer, Accumulation::kChainOrLanes);
  const Selection selection = Choose(layer, reference.Router());
  const OutputExpected expected = reference.Evaluate(selection);
  for (const Dot& dot : {Dot(Forward), Dot(LanesAndTree), Dot(LanesOfSixteen)})
    RC_ASSERT(Outside(expected, RunModel({dot}, layer, selection)) == 0);
}

RC_GTEST_PROP(LayerReference, AdmitsTheContractInEveryOrderOfSums, ()) {
  for (int i = 0; i < 3; ++i) ExpectAdmitted(DrawProblem());
}

RC_GTEST_PROP(LayerReference, AdmitsTheDeclaredOrdersWithinTheirTighterBounds, ()) {
  for (int i = 0; i < 3; ++i) ExpectDeclaredOrdersAdmitted(DrawProblem());
}

// A long inner dimension, where the bounds differ most.
TEST(LayerReference, DeclaredOrdersHaveMuchTighterBoundsForLongSums) {
  Problem p;
  p.rows = 1;
  p.top_k = 1;
  p.hidden = 2048;
  p.inter = 512;
  const LayerData layer = BuildLayer(p);
  const LayerReference any(layer), declared(layer, Accumulation::kChainOrLanes);
  const Selection selection = Choose(layer, any.Router());
  const OutputExpected wide = any.Evaluate(selection), narrow = declared.Evaluate(selection);
  double wide_sum = 0, narrow_sum = 0;
  for (std::size_t i = 0; i < wide.error.size(); ++i) {
    wide_sum += wide.error[i];
    narrow_sum += narrow.error[i];
    EXPECT_TRUE(wide.stored[i].low <= narrow.stored[i].low &&
                narrow.stored[i].high <= wide.stored[i].high);
  }
  EXPECT_LT(narrow_sum, wide_sum / 3);
  for (const Dot& dot : {Dot(Forward), Dot(LanesAndTree), Dot(LanesOfSixteen)})
    EXPECT_EQ(Outside(narrow, RunModel({dot}, layer, selection)), 0);
}

// Faults on ordinary data: each must leave the admissible set.
RC_GTEST_PROP(LayerReference, RejectsWhatTheContractForbids, ()) {
  Problem p = DrawProblem();
  p.data = DataDraw::kGauss;
  p.rows = 1;
  p.hidden = p.inter = 64;
  p.top_k = 2;
  p.shared = Format::kNvfp4;
  p.shared_gate = SharedGate::kSigmoid;
  const LayerData layer = BuildLayer(p);
  const LayerReference reference(layer);
  const Selection selection = Choose(layer, reference.Router());
  const OutputExpected expected = reference.Evaluate(selection);
  RC_ASSERT(Outside(expected, RunModel({.store = Truncated}, layer, selection)) > 0);
  RC_ASSERT(Outside(expected, RunModel({.act_in_bf16 = true}, layer, selection)) > 0);
  RC_ASSERT(Outside(expected, RunModel({.shared_gate = false}, layer, selection)) > 0);
  RC_ASSERT(Outside(expected, RunModel({.last_slot = false}, layer, selection)) > 0);
}

double Step(double value, int codes) {
  std::uint16_t bits = DoubleToBf16(value);
  return Bf16ToFloat(static_cast<std::uint16_t>(bits + (value < 0 ? -codes : codes)));
}

TEST(LayerReference, RejectsAnOutputTwoStepsOutside) {
  Problem p;
  p.rows = 3;
  const LayerData layer = BuildLayer(p);
  const LayerReference reference(layer);
  for (const Interval& i : reference.Evaluate(Choose(layer, reference.Router())).stored) {
    EXPECT_TRUE(i.Holds(i.low) && i.Holds(i.high));
    EXPECT_FALSE(i.Holds(Step(i.high, 2)));
    EXPECT_FALSE(i.Holds(-Step(-i.low, 2)));
    EXPECT_FALSE(i.Holds(std::nan("")));
  }
}

PackedMatrix Bf16Matrix(int rows, int columns, const std::vector<double>& values) {
  PackedMatrix m{Format::kBf16, false, rows, columns, {}, {}};
  for (const double value : values) {
    const std::uint16_t bits = DoubleToBf16(value);
    m.payload.push_back(static_cast<std::uint8_t>(bits & 255));
    m.payload.push_back(static_cast<std::uint8_t>(bits >> 8));
  }
  return m;
}

// hidden 2, inter 1, one expert, input (40, 2): gate 40, up 2.
LayerData HandMade() {
  LayerData layer;
  layer.problem.hidden = 2;
  layer.problem.inter = 1;
  layer.problem.experts = 1;
  layer.problem.top_k = 1;
  layer.problem.format = Format::kBf16;
  layer.input = {DoubleToBf16(40), DoubleToBf16(2)};
  layer.router_weight = {DoubleToBf16(1), DoubleToBf16(0.5)};
  layer.experts[0] = {Bf16Matrix(1, 2, {1, 0}), Bf16Matrix(1, 2, {0, 1}),
                      Bf16Matrix(2, 1, {0.5, -0.25})};
  return layer;
}

void ExpectOnly(const Interval& interval, double value) {
  EXPECT_EQ(interval.low, value);
  EXPECT_EQ(interval.high, value);
}

// silu(40) = 40 in double and in FP32, so all numbers are whole: act 80, down (40, -20).
TEST(LayerReference, AgreesWithALayerComputedByHand) {
  const LayerData layer = HandMade();
  const LayerReference reference(layer);
  EXPECT_EQ(reference.Router().logits, (std::vector<double>{41}));
  const OutputExpected y = reference.Evaluate({{0}, {0.5f}});
  EXPECT_EQ(y.exact, (std::vector<double>{20, -10}));
  ExpectOnly(y.stages.gate[0], 40);
  ExpectOnly(y.stages.up[0], 2);
  ExpectOnly(y.stages.down[1], -20);
  ExpectOnly(y.stored[0], 20);
  ExpectOnly(y.stored[1], -10);
}

// dot(input, gate) = 0, factor 1/2: adds half of the shared expert's (40, -20).
TEST(LayerReference, AddsTheSharedExpertByItsGate) {
  LayerData layer = HandMade();
  layer.problem.shared = Format::kBf16;
  layer.shared = layer.experts[0];
  layer.shared_gate = {DoubleToBf16(1), DoubleToBf16(-20)};
  const OutputExpected y = LayerReference(layer).Evaluate({{0}, {0.5f}});
  EXPECT_EQ(y.exact, (std::vector<double>{40, -20}));
  ExpectOnly(y.stored[0], 40);
  layer.shared_gate.clear();
  const OutputExpected ungated = LayerReference(layer).Evaluate({{0}, {0.5f}});
  EXPECT_EQ(ungated.exact, (std::vector<double>{60, -30}));
}

// gate = 1 + 2^-8 lies on the boundary of two BF16 numbers: both are admissible, since FP32 sums
// in another order may fall on either side.
TEST(LayerReference, AdmitsBothSidesOfARoundingBoundary) {
  LayerData layer = HandMade();
  layer.input = {DoubleToBf16(1), DoubleToBf16(1)};
  layer.experts[0].gate = Bf16Matrix(1, 2, {1, 0x1p-8});
  const OutputExpected y = LayerReference(layer).Evaluate({{0}, {1.0f}});
  EXPECT_EQ(y.stages.gate[0].low, 1);
  EXPECT_EQ(y.stages.gate[0].high, 1 + 0x1p-7);
}

TEST(LayerReference, OverflowAdmitsInfinityAndNan) {
  LayerData layer = HandMade();
  layer.input = {DoubleToBf16(0x1p127), DoubleToBf16(0x1p127)};
  layer.experts[0].gate = Bf16Matrix(1, 2, {4, -4});  // inf - inf in some order
  const OutputExpected y = LayerReference(layer).Evaluate({{0}, {1.0f}});
  EXPECT_TRUE(y.stored[0].Holds(std::nan("")));
  EXPECT_TRUE(y.stored[0].Holds(HUGE_VAL));
}

TEST(LayerReference, ANanWeightAdmitsOnlyNan) {
  LayerData layer = HandMade();
  layer.experts[0].down = Bf16Matrix(2, 1, {std::nan(""), 1});
  const OutputExpected y = LayerReference(layer).Evaluate({{0}, {1.0f}});
  EXPECT_TRUE(y.stored[0].Holds(std::nan("")));
  EXPECT_FALSE(y.stored[0].Holds(0));
  EXPECT_FALSE(y.stored[1].Holds(std::nan("")));
}

TEST(LayerReference, RefusesAnExpertThatWasNotBuilt) {
  const LayerData layer = HandMade();
  const LayerReference reference(layer);
  EXPECT_THROW(reference.Evaluate({{1}, {0.5f}}), UsageError);
  EXPECT_THROW(reference.Evaluate({{0, 0}, {0.5f, 0.5f}}), UsageError);
  EXPECT_EQ(reference.Evaluate({{0}, {0.5f}}).exact[0], 20);  // and still works
}

TEST(LayerReference, ASecondEvaluationGivesTheSame) {
  Problem p;
  p.rows = 2;
  const LayerData layer = BuildLayer(p);
  const LayerReference reference(layer);
  const Selection selection = Choose(layer, reference.Router());
  EXPECT_EQ(reference.Evaluate(selection).center, reference.Evaluate(selection).center);
}

// Outputs are of order one and mostly well above their bound, so that faults show.
TEST(LayerReference, OrdinaryCasesHavePower) {
  for (const Format format : {Format::kNvfp4, Format::kMxfp4}) {
    Problem p;
    p.format = format;
    p.hidden = p.inter = 128;
    p.rows = 3;
    p.top_k = 4;
    p.experts = 16;
    p.shared = format;
    const LayerData layer = BuildLayer(p);
    const LayerReference reference(layer);
    const OutputExpected y = reference.Evaluate(Choose(layer, reference.Router()));
    double square = 0;
    long powerful = 0;
    for (std::size_t i = 0; i < y.exact.size(); ++i) {
      square += y.exact[i] * y.exact[i];
      powerful += std::fabs(y.exact[i]) > 3 * (y.stored[i].high - y.stored[i].low);
    }
    const double size = double(y.exact.size()), rms = std::sqrt(square / size);
    EXPECT_TRUE(0.3 < rms && rms < 10) << rms;
    EXPECT_GT(powerful / size, 0.9);
  }
}

}  // namespace
}  // namespace assay
