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

TEST(ScaleShapes, ExistForFormatsWithScales) {
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

TEST(ScaleShapes, OfBlockFp8ServeRowsAndColumnsOf128AndCountFourBytes) {
  Problem p;
  p.format = Format::kFp8Block;
  p.hidden = 300;
  p.inter = 130;
  const auto shape = *ShapeOfScales({Projection::kGate, 5, true, false}, p);
  EXPECT_EQ(shape.Scales(), 2 * 3);
  EXPECT_EQ(shape.Bytes(), 24);
  EXPECT_EQ(shape.placement.UnitOf({129, 256}), 5);
  EXPECT_EQ(ScaleText({Projection::kGate, 5, true, false}, shape, 5),
            "expert 5 gate rows 128..255 group 2 (columns 256..383)");
}

RC_GTEST_PROP(ScaleShapes, TranslateEachScaleToTheWeightThatThePlacementPutsThere, ()) {
  Problem p;
  p.format = *rc::gen::element(Format::kNvfp4, Format::kMxfp4, Format::kFp8Block);
  p.hidden = 32 * *rc::gen::inRange(1, 16);
  p.inter = 32 * *rc::gen::inRange(1, 16);
  const bool transposed = p.format != Format::kFp8Block && *rc::gen::arbitrary<bool>();
  const auto projection = *rc::gen::element(Projection::kGate, Projection::kUp, Projection::kDown);
  const auto shape = *ShapeOfScales({projection, 3, true, transposed}, p);
  const auto scale = *rc::gen::inRange<std::int64_t>(0, shape.Scales());
  const int column = shape.GroupOf(scale) * shape.group + *rc::gen::inRange(0, shape.group);
  const int row = shape.RowOf(scale) + *rc::gen::inRange(0, shape.band);
  RC_ASSERT(shape.RowOf(scale) < shape.rows && shape.GroupOf(scale) < shape.groups);
  RC_ASSERT(shape.placement.UnitOf({row, column}) == scale);
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
