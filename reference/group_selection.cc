#include "reference/group_selection.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "reference/accumulation.h"
#include "reference/routing.h"

namespace assay {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

// A group's score is an FP32 sum.
double Rounding(double score) { return std::isfinite(score) ? kUnitFp32 * std::fabs(score) : 0; }

double Score(GroupScore kind, std::span<const double> members) {
  double best = kNever, second = kNever;
  for (const double m : members) {
    if (m > best)
      second = std::exchange(best, m);
    else if (m > second)
      second = m;
  }
  if (kind == GroupScore::kMax) return best;
  // A group of one, or with one finite member: there is no second best to add.
  return second == kNever ? best : best + second;
}

std::vector<double> GroupScores(const RouterRule& rule, std::span<const double> scores) {
  const std::size_t size = scores.size() / rule.groups;
  std::vector<double> result;
  for (int g = 0; g < rule.groups; ++g)
    result.push_back(Score(rule.group_score, scores.subspan(g * size, size)));
  return result;
}

std::vector<bool> Flags(std::size_t size, std::span<const int> set) {
  std::vector<bool> in(size, false);
  for (const int i : set) in[i] = true;
  return in;
}

// Whether scores exist that keep exactly the groups `kept` and choose `chosen`. All members of
// other groups go down, the chosen go up, the rest goes up as far as the chosen allow: this makes
// every kept group's score as large and every other's as small as the choice permits.
class KeptGroups {
 public:
  KeptGroups(const RouterRule& rule, const ScoreBoxes& boxes, std::span<const int> chosen,
             const std::vector<bool>& kept)
      : rule_(rule), boxes_(boxes), chosen_(Flags(boxes.low.size(), chosen)), kept_(kept) {}

  bool Possible() const {
    const double worst = WorstChosen();
    std::vector<double> scores = boxes_.low;
    for (int e = 0; e < static_cast<int>(scores.size()); ++e) {
      if (boxes_.high[e] == kNever) {
        if (chosen_[e]) return false;
        continue;
      }
      if (!chosen_[e] && Seen(e, boxes_.low[e]) > worst) return false;
      if (!Kept(e)) continue;
      scores[e] = chosen_[e] ? boxes_.high[e] : std::min(boxes_.high[e], worst);
    }
    return KeptAreBest(GroupScores(rule_, scores));
  }

 private:
  bool Kept(int e) const { return kept_[e / (boxes_.low.size() / rule_.groups)]; }
  // What the selection sees of a score.
  double Seen(int e, double score) const { return Kept(e) ? score : rule_.dropped_fill; }

  double WorstChosen() const {
    double worst = std::numeric_limits<double>::infinity();
    for (int e = 0; e < static_cast<int>(chosen_.size()); ++e)
      if (chosen_[e]) worst = std::min(worst, Seen(e, boxes_.high[e]));
    return worst;
  }

  bool KeptAreBest(const std::vector<double>& scores) const {
    double worst_kept = std::numeric_limits<double>::infinity(), best_dropped = kNever;
    for (int g = 0; g < rule_.groups; ++g)
      if (kept_[g])
        worst_kept = std::min(worst_kept, scores[g]);
      else
        best_dropped = std::max(best_dropped, scores[g]);
    return worst_kept + Rounding(worst_kept) >= best_dropped - Rounding(best_dropped);
  }

  const RouterRule& rule_;
  const ScoreBoxes& boxes_;
  std::vector<bool> chosen_;
  const std::vector<bool>& kept_;
};

bool TouchesOnly(const RouterRule& rule, std::size_t experts, std::span<const int> chosen,
                 const std::vector<bool>& kept) {
  return std::all_of(chosen.begin(), chosen.end(),
                     [&](int e) { return kept[e / (experts / rule.groups)]; });
}

}  // namespace

std::vector<double> MaskDroppedGroups(const RouterRule& rule, std::span<const double> scores) {
  const std::vector<int> best = TopK(GroupScores(rule, scores), rule.groups_kept);
  const std::vector<bool> kept = Flags(rule.groups, best);
  const std::size_t size = scores.size() / rule.groups;
  std::vector<double> masked(scores.begin(), scores.end());
  for (std::size_t e = 0; e < masked.size(); ++e)
    if (!kept[e / size] && masked[e] != kNever) masked[e] = rule.dropped_fill;
  return masked;
}

ScoreBoxes BoxesOf(const RankedScores& ranked) {
  ScoreBoxes boxes;
  for (std::size_t e = 0; e < ranked.value.size(); ++e) {
    boxes.low.push_back(ranked.value[e] - ranked.error[e]);
    boxes.high.push_back(ranked.value[e] + ranked.error[e]);
  }
  return boxes;
}

bool AdmissibleTopk(const ScoreBoxes& boxes, std::span<const int> chosen) {
  for (const int e : chosen)
    if (boxes.high[e] == kNever) return false;
  return Admissible(boxes.low, boxes.high, chosen);
}

std::vector<bool> GroupsThatMayBeKept(const RouterRule& rule, const ScoreBoxes& boxes) {
  const std::vector<double> low = GroupScores(rule, boxes.low),
                            high = GroupScores(rule, boxes.high);
  std::vector<bool> kept(rule.groups);
  for (int g = 0; g < rule.groups; ++g) {
    int better = 0;
    for (int h = 0; h < rule.groups; ++h)
      better += h != g && low[h] - Rounding(low[h]) > high[g] + Rounding(high[g]);
    kept[g] = better < rule.groups_kept;
  }
  return kept;
}

bool MayBeAdmissibleGrouped(const RouterRule& rule, const ScoreBoxes& boxes,
                            std::span<const int> chosen) {
  const std::vector<bool> kept = GroupsThatMayBeKept(rule, boxes);
  const std::size_t size = boxes.low.size() / rule.groups;
  std::vector<bool> touched(rule.groups, false);
  for (const int e : chosen) {
    touched[e / size] = true;
    if (!kept[e / size]) return false;
  }
  ScoreBoxes inside = boxes;
  for (std::size_t e = 0; e < inside.low.size(); ++e)
    if (!touched[e / size]) inside.low[e] = inside.high[e] = kNever;
  return AdmissibleTopk(inside, chosen);
}

bool AdmissibleGrouped(const RouterRule& rule, const ScoreBoxes& boxes,
                       std::span<const int> chosen) {
  std::vector<bool> kept(rule.groups, false);
  std::fill(kept.end() - rule.groups_kept, kept.end(), true);
  do {
    if (rule.dropped_fill == kNever && !TouchesOnly(rule, boxes.low.size(), chosen, kept)) continue;
    if (KeptGroups(rule, boxes, chosen, kept).Possible()) return true;
  } while (std::next_permutation(kept.begin(), kept.end()));
  return false;
}

}  // namespace assay
