// Layers computed by hand, special values, errors, power.
#include <gtest/gtest.h>

#include <cmath>

#include "reference/error.h"
#include "reference/fp32_model.h"

namespace assay {
namespace {

using fp32_model::Choose;

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
