#include "oracle/free_order.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracle/repeat_check.h"
#include "oracle/scripted_case.h"

namespace assay {
namespace {

FreeOrder Spread(double value, std::size_t elements) {
  return {std::vector<double>(elements, value)};
}

TEST(FreeOrder, ExplainsNeighboursAndWhatLiesWithinTheSpreadOnly) {
  const FreeOrder none = Spread(0, 1), wide = Spread(0x1p-7, 1);
  EXPECT_TRUE(none.Explains(0, 0x3F80, 0x3F80));
  EXPECT_TRUE(none.Explains(0, 0x3F80, 0x3F81));   // one sum may round either way
  EXPECT_FALSE(none.Explains(0, 0x3F80, 0x3F82));  // a whole step lies between
  EXPECT_TRUE(wide.Explains(0, 0x3F80, 0x3F82));
  EXPECT_FALSE(wide.Explains(0, 0x3F80, 0x3F83));
}

TEST(FreeOrder, ExplainsNoNanNextToANumber) {
  EXPECT_FALSE(Spread(1, 1).Explains(0, 0x3F80, 0x7FFF));
  EXPECT_FALSE(Spread(1, 1).Explains(0, 0x7FFF, 0x3F80));
}

// Three slots of weight 0.5 and magnitude 4: S = 6, two additions.
TEST(FreeOrder, SpreadIsTwiceTheBoundOfTheAdditions) {
  ScriptedCase c = MakeScriptedCase();
  c.layer.problem.rows = 1;
  c.layer.problem.top_k = 3;
  const int hidden = c.layer.problem.hidden;
  RunRecord run;
  run.weights.assign(3, 0.5f);
  OutputExpected expected;
  expected.stages.down.assign(std::size_t(3) * hidden, Interval{-4, 2});
  const FreeOrder free = SpreadOf(c.context(), run, expected);
  ASSERT_EQ(free.spread.size(), std::size_t(hidden));
  EXPECT_NEAR(free.spread[0], 2 * 2 * 0x1p-24 * 6, 1e-11);
  EXPECT_GE(free.spread[0], 2 * 2 * 0x1p-24 * 6);
}

TEST(RepeatCheck, AllowsInFreeOrderWhatTheSpreadExplains) {
  const ScriptedCase c = MakeScriptedCase();
  const RunRecord first = MakeScriptedRun(c.layer.problem);
  RunRecord near = first, far = first;
  near.output[3] += 1;
  far.output[3] += 2;
  const FreeOrder free = Spread(0, first.output.size());
  const auto judge = [&](const RunRecord& second) {
    return CheckRepeats(
               c.context(), first, [&](const RunOptions&) { return second; }, Checks::kStandard,
               &free)
        .findings;
  };
  EXPECT_TRUE(judge(near).empty());
  const auto found = judge(far);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].check, "repeat");
  EXPECT_EQ(EvidenceOf(found[0], "free_order_explains"), "0");
}

TEST(RepeatCheck, DemandsTheSameIdsInFreeOrderToo) {
  const ScriptedCase c = MakeScriptedCase();
  const RunRecord first = MakeScriptedRun(c.layer.problem);
  RunRecord other = first;
  other.ids[0] += 1;
  const FreeOrder free = Spread(HUGE_VAL, first.output.size());
  const auto found =
      CheckRepeats(
          c.context(), first, [&](const RunOptions&) { return other; }, Checks::kStandard, &free)
          .findings;
  EXPECT_FALSE(found.empty());
}

}  // namespace
}  // namespace assay
