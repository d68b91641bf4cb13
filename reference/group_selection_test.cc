#include "reference/group_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/router_cases.h"
#include "reference/routing.h"

namespace assay {
namespace {

using router_cases::Draw;

struct GroupedCase {
  RouterRule rule;
  ScoreBoxes boxes;
};

GroupedCase DrawGrouped(std::uint64_t seed, bool infinite_fill) {
  Draw draw(seed);
  GroupedCase c;
  c.rule.selection = SelectionKind::kGrouped;
  router_cases::DrawGroups(draw, c.rule);
  c.rule.dropped_fill = infinite_fill ? -std::numeric_limits<double>::infinity() : 0.0;
  for (int e = 0; e < c.rule.experts; ++e) {
    const double middle = 1 + draw.Bell(0.3), half = std::fabs(draw.Bell(0.15));
    c.boxes.low.push_back(middle - half);
    c.boxes.high.push_back(middle + half);
  }
  return c;
}

// A point of the boxes, ends included now and then.
std::vector<double> Inside(Draw& draw, const ScoreBoxes& boxes) {
  std::vector<double> point;
  for (std::size_t e = 0; e < boxes.low.size(); ++e)
    point.push_back(boxes.low[e] + (boxes.high[e] - boxes.low[e]) * draw.Below(9) / 8.0);
  return point;
}

TEST(GroupSelection, WhatAPointOfTheBoxesChoosesIsAdmissibleByBothTests) {
  for (std::uint64_t seed = 0; seed < 400; ++seed)
    for (const bool infinite : {true, false}) {
      const GroupedCase c = DrawGrouped(seed, infinite);
      Draw draw(seed + 1000);
      for (int trial = 0; trial < 10; ++trial) {
        const auto chosen = TopK(MaskDroppedGroups(c.rule, Inside(draw, c.boxes)), c.rule.top_k);
        ASSERT_TRUE(AdmissibleGrouped(c.rule, c.boxes, chosen)) << seed;
        if (infinite) {
          ASSERT_TRUE(MayBeAdmissibleGrouped(c.rule, c.boxes, chosen)) << seed;
        }
      }
    }
}

std::vector<int> DrawSubset(Draw& draw, int size, int count) {
  std::vector<int> all(size);
  for (int i = 0; i < size; ++i) all[i] = i;
  for (int i = 0; i < count; ++i) std::swap(all[i], all[i + draw.Below(size - i)]);
  all.resize(count);
  return all;
}

// The exact test accepts only what the necessary one accepts, and sometimes rejects more.
TEST(GroupSelection, TheTwoLevelTestIsNecessaryButNotSufficient) {
  int both = 0, only_necessary = 0;
  for (std::uint64_t seed = 0; seed < 4000; ++seed) {
    const GroupedCase c = DrawGrouped(seed, true);
    Draw draw(seed + 5000);
    const auto chosen = DrawSubset(draw, c.rule.experts, c.rule.top_k);
    const bool exact = AdmissibleGrouped(c.rule, c.boxes, chosen);
    const bool may = MayBeAdmissibleGrouped(c.rule, c.boxes, chosen);
    ASSERT_TRUE(may || !exact) << seed;
    both += exact;
    only_necessary += may && !exact;
  }
  EXPECT_GT(both, 100);
  EXPECT_GT(only_necessary, 10);
}

// For every selection, a search over the corners and the caps of the boxes finds it if and only if
// the exact test admits it: groups of two, one kept.
TEST(GroupSelection, TheExactTestIsExactOnASmallGridOfPoints) {
  RouterRule rule;
  rule.selection = SelectionKind::kGrouped;
  rule.experts = 4;
  rule.groups = 2;
  rule.groups_kept = 1;
  rule.top_k = 1;
  int admitted = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draw draw(seed);
    ScoreBoxes boxes;
    for (int e = 0; e < 4; ++e) {
      const double low = draw.Below(8);
      boxes.low.push_back(low);
      boxes.high.push_back(low + draw.Below(3));
    }
    std::vector<bool> found(4, false);  // integer points reach every order that real ones reach
    std::vector<double> point(4);
    for (point[0] = boxes.low[0]; point[0] <= boxes.high[0]; ++point[0])
      for (point[1] = boxes.low[1]; point[1] <= boxes.high[1]; ++point[1])
        for (point[2] = boxes.low[2]; point[2] <= boxes.high[2]; ++point[2])
          for (point[3] = boxes.low[3]; point[3] <= boxes.high[3]; ++point[3]) {
            const double first = point[0] + point[1], second = point[2] + point[3];
            for (int e = 0; e < 4; ++e)
              found[e] = found[e] ||
                         (point[e] >= point[e ^ 1] && (e < 2 ? first >= second : second >= first));
          }
    for (int e = 0; e < 4; ++e) {
      const int chosen[] = {e};
      EXPECT_EQ(AdmissibleGrouped(rule, boxes, chosen), found[e]) << seed << " expert " << e;
      admitted += found[e];
    }
  }
  EXPECT_GT(admitted, 300);
}

TEST(GroupSelection, ThePlainBoxTestIsExact) {
  const ScoreBoxes boxes{{0, 2, 1}, {2.5, 3, 1.5}};
  const int first[] = {0}, second[] = {1}, third[] = {2};
  EXPECT_TRUE(AdmissibleTopk(boxes, first));
  EXPECT_TRUE(AdmissibleTopk(boxes, second));
  EXPECT_FALSE(AdmissibleTopk(boxes, third));
}

TEST(GroupSelection, AFillOfZeroLetsADroppedExpertWinOverANegativeOne) {
  RouterRule rule;
  rule.selection = SelectionKind::kGrouped;
  rule.experts = 4;
  rule.groups = 2;
  rule.groups_kept = 1;
  rule.top_k = 2;
  rule.group_score = GroupScore::kMax;
  const std::vector<double> scores{5, -1, 2, 1};
  EXPECT_EQ(TopK(MaskDroppedGroups(rule, scores), 2), (std::vector<int>{0, 1}));
  rule.dropped_fill = 0;
  EXPECT_EQ(TopK(MaskDroppedGroups(rule, scores), 2), (std::vector<int>{0, 2}));
  const int kept[] = {0, 1}, dropped[] = {0, 2};
  EXPECT_TRUE(AdmissibleGrouped(rule, {scores, scores}, dropped));
  EXPECT_FALSE(AdmissibleGrouped(rule, {scores, scores}, kept));
}

}  // namespace
}  // namespace assay
