// Selection among groups of experts, and which selections are admissible when scores are known up
// to a bound.
#pragma once

#include <span>
#include <vector>

#include "reference/router_rule.h"

namespace assay {

// The scores with those of the groups that are not kept replaced by the rule's fill. -inf scores
// (never chosen) stay.
std::vector<double> MaskDroppedGroups(const RouterRule& rule, std::span<const double> scores);

// Boxes of scores before grouping: low <= score <= high.
struct ScoreBoxes {
  std::vector<double> low, high;
};
ScoreBoxes BoxesOf(const RankedScores& ranked);

// Plain top-k: some scores in the boxes have `chosen` as their k best. Exact (ties either way).
bool AdmissibleTopk(const ScoreBoxes& boxes, std::span<const int> chosen);

// Necessary, not sufficient: every group that `chosen` touches may be among the kept ones, and
// inside these groups the plain test holds. Grouped selection, fill -inf.
bool MayBeAdmissibleGrouped(const RouterRule& rule, const ScoreBoxes& boxes,
                            std::span<const int> chosen);

// By group: whether fewer than groups_kept others are certainly better.
std::vector<bool> GroupsThatMayBeKept(const RouterRule& rule, const ScoreBoxes& boxes);

// Exact, by going through all sets of kept groups: C(groups, groups_kept) of them. Both fills.
bool AdmissibleGrouped(const RouterRule& rule, const ScoreBoxes& boxes,
                       std::span<const int> chosen);

}  // namespace assay
