#include "oracle/scale_map.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace assay {
namespace {

TEST(WeightTensorNames, SayProjectionExpertPartAndLayout) {
  EXPECT_EQ(ParseWeightTensor("gate[5].scale"), (WeightTensor{Projection::kGate, 5, true, false}));
  EXPECT_EQ(ParseWeightTensor("up_t[12].scale"), (WeightTensor{Projection::kUp, 12, true, true}));
  EXPECT_EQ(ParseWeightTensor("down_t[0].payload"),
            (WeightTensor{Projection::kDown, 0, false, true}));
  EXPECT_EQ(ParseWeightTensor("shared_gate_t.scale"),
            (WeightTensor{Projection::kGate, kSharedExpert, true, true}));
  EXPECT_EQ(ParseWeightTensor("shared_up.payload"),
            (WeightTensor{Projection::kUp, kSharedExpert, false, false}));
}

TEST(WeightTensorNames, OfOtherTensorsAreNotTaken) {
  EXPECT_EQ(ParseWeightTensor("shared_gate"), std::nullopt);  // the gate vector
  EXPECT_EQ(ParseWeightTensor("moe_output"), std::nullopt);
  EXPECT_EQ(ParseWeightTensor("gate[unrouted].scale"), std::nullopt);
  EXPECT_EQ(ParseWeightTensor("gate_out"), std::nullopt);
}

TEST(ScaleShapes, ExistForFormatsWithScalesOfOneByte) {
  Problem p;
  p.format = Format::kBf16;
  EXPECT_EQ(ShapeOfScales({}, p), std::nullopt);
  p.format = Format::kMxfp4;
  p.hidden = 64;
  p.inter = 96;
  EXPECT_EQ(ShapeOfScales({Projection::kGate, 0, true, true}, p)->Bytes(), 96 * 2);
  EXPECT_EQ(ShapeOfScales({Projection::kDown, 0, true, true}, p)->Bytes(), 64 * 3);
}

TEST(ScaleShapes, OfTheSharedExpertFollowItsOwnFormatAndWidth) {
  Problem p;
  p.format = Format::kMxfp4;
  p.shared = Format::kNvfp4;
  p.hidden = 64;
  p.inter = 96;
  p.shared_inter = 32;
  EXPECT_EQ(ShapeOfScales({Projection::kUp, kSharedExpert, true, false}, p)->Bytes(), 32 * 4);
}

RC_GTEST_PROP(ScaleShapes, TranslateEachByteToTheWeightThatThePlacementPutsThere, ()) {
  Problem p;
  p.format = *rc::gen::element(Format::kNvfp4, Format::kMxfp4);
  p.hidden = 32 * *rc::gen::inRange(1, 6);
  p.inter = 32 * *rc::gen::inRange(1, 6);
  const auto projection = *rc::gen::element(Projection::kGate, Projection::kUp, Projection::kDown);
  const auto shape = *ShapeOfScales({projection, 3, true, *rc::gen::arbitrary<bool>()}, p);
  const auto byte = *rc::gen::inRange<std::int64_t>(0, shape.Bytes());
  const int column = shape.GroupOf(byte) * shape.group + *rc::gen::inRange(0, shape.group);
  RC_ASSERT(shape.RowOf(byte) < shape.rows && shape.GroupOf(byte) < shape.groups);
  RC_ASSERT(shape.placement.UnitOf({shape.RowOf(byte), column}) == byte);
}

TEST(ScaleShapes, AreNamedForAReader) {
  const auto c = WeightTensor{Projection::kGate, 5, true, true};
  Problem p;
  p.format = Format::kMxfp4;
  p.hidden = 64;
  p.inter = 32;
  EXPECT_EQ(ScaleText(c, *ShapeOfScales(c, p), 49),
            "expert 5 gate row 17 group 1 (columns 32..63)");
}

}  // namespace
}  // namespace assay
