// Evaluations that keep the contract stay inside the intervals; those that break it leave them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "reference/fp32_model.h"

namespace assay {
namespace {

using namespace fp32_model;

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

}  // namespace
}  // namespace assay
