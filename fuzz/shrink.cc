#include "fuzz/shrink.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "fuzz/generate_shape.h"

namespace assay {

namespace {

// Check and class: the same fault in another shape, not another fault.
using Reason = std::pair<std::string, std::string>;

std::set<Reason> ReasonsOf(const Verdict& verdict) {
  std::set<Reason> reasons;
  for (const Finding& finding : verdict.findings) {
    reasons.emplace(finding.check, finding.error_class);
  }
  return reasons;
}

class Search {
 public:
  Search(const Case& failing, const Verdict& verdict,
         const std::function<Verdict(const Case&)>& judge, int budget,
         const std::function<bool()>& stop)
      : reasons_(ReasonsOf(verdict)), judge_(judge), budget_(budget), stop_(stop) {
    best_.smallest = failing;
    best_.verdict = verdict;
  }

  // Rounds until one changes nothing: a smaller shape may allow a feature to go, and the reverse.
  Shrunk Run() {
    for (bool smaller = true; smaller && !Spent();) smaller = Round();
    return best_;
  }

 private:
  bool Spent() {
    if (best_.runs >= budget_ || (stop_ && stop_())) best_.exhausted = true;
    return best_.exhausted;
  }

  // Keeps the candidate if it fails for a reason of the first verdict.
  bool Try(const Case& candidate) {
    if (candidate == best_.smallest || Impossible(candidate.problem)) return false;
    if (!tried_.insert(ToLine(candidate)).second || Spent()) return false;
    ++best_.runs;
    Verdict verdict = judge_(candidate);
    if (verdict.outcome != Outcome::kFailed || !SameReason(verdict)) return false;
    best_.smallest = candidate;
    best_.verdict = std::move(verdict);
    return true;
  }

  bool SameReason(const Verdict& verdict) const {
    for (const Reason& reason : ReasonsOf(verdict)) {
      if (reasons_.count(reason)) return true;
    }
    return false;
  }

  bool Round() {
    bool smaller = ShrinkExperts();
    smaller |= Lower(&Problem::top_k, 1, 1);
    smaller |= Lower(&Problem::rows, 1, 1);
    smaller |= Lower(&Problem::hidden, Step(), Step());
    smaller |= Lower(&Problem::inter, Step(), Step());
    smaller |= DropFeatures();
    smaller |= PlainData();
    smaller |= SmallSeed();
    return smaller;
  }

  // Dimensions stay whole groups, so that the path still serves them.
  int Step() const { return GroupOf(best_.smallest.problem); }

  // Fewer experts alone first; where top_k stands in the way, both together.
  bool ShrinkExperts() {
    const bool smaller = Lower(&Problem::experts, best_.smallest.problem.top_k, 1);
    Case both = best_.smallest;
    both.problem.experts = both.problem.top_k = std::max(1, both.problem.top_k / 2);
    return (both.problem.top_k < best_.smallest.problem.top_k && Try(both)) || smaller;
  }

  // From `low` on: the smallest multiple of `step` that fails, by steps that double from the bottom
  // (a threshold is then met within its factor of two) and then by halving down to it.
  bool Lower(int Problem::*field, int low, int step) {
    bool smaller = false;
    for (int distance = 0;; distance = std::max(step, 2 * distance)) {
      const int value = low + distance;
      if (value >= best_.smallest.problem.*field) break;
      if (Set(field, value)) {
        smaller = true;
        break;
      }
    }
    return Descend(field, low, step) || smaller;
  }

  // Halves the way to the next lower value that did not fail, until one step remains.
  bool Descend(int Problem::*field, int low, int step) {
    bool smaller = false;
    int passing = low - step;
    while (true) {
      const int current = best_.smallest.problem.*field;
      const int middle = passing + (current - passing) / 2 / step * step;
      if (middle <= passing || middle >= current) return smaller;
      if (Set(field, middle)) {
        smaller = true;
      } else {
        passing = middle;
      }
    }
  }

  template <typename T>
  bool Set(T Problem::*field, T value) {
    Case candidate = best_.smallest;
    candidate.problem.*field = value;
    return Try(candidate);
  }

  // Each back to its default, alone; those that belong together, together.
  bool DropFeatures() {
    const Problem plain;
    bool smaller = Set(&Problem::shared, plain.shared);
    smaller |= Set(&Problem::shared_inter, plain.shared_inter);
    smaller |= Set(&Problem::shared_gate, plain.shared_gate);
    smaller |= Set(&Problem::router, plain.router);
    smaller |= Set(&Problem::norm, plain.norm);
    smaller |= Set(&Problem::scale, plain.scale);
    smaller |= Set(&Problem::zero_experts, plain.zero_experts);
    smaller |= Set(&Problem::router_bias, plain.router_bias);
    smaller |= Set(&Problem::pre_norm, plain.pre_norm);
    smaller |= Set(&Problem::fp32_gate, plain.fp32_gate);
    smaller |= Set(&Problem::gate_format, plain.gate_format);
    smaller |= Set(&Problem::pre_expert_norm, plain.pre_expert_norm);
    smaller |= Set(&Problem::activation, plain.activation);
    smaller |= Set(&Problem::limit, plain.limit);
    smaller |= Set(&Problem::expert_bias, plain.expert_bias);
    smaller |= Set(&Problem::lora, plain.lora);
    smaller |= Set(&Problem::graph, plain.graph);
    return smaller | DropGroups() | DropRanks();
  }

  bool DropGroups() {
    Case candidate = best_.smallest;
    candidate.problem.groups = candidate.problem.groups_kept = 1;
    return Try(candidate);
  }

  bool DropRanks() {
    Case candidate = best_.smallest;
    candidate.problem.ep = 1;
    candidate.problem.ep_map = EpMap::kEven;
    return Try(candidate);
  }

  bool PlainData() {
    const Problem plain;
    bool smaller = Set(&Problem::routing, plain.routing);
    smaller |= Set(&Problem::logits, plain.logits);
    smaller |= Set(&Problem::data, plain.data);
    smaller |= Set(&Problem::codes, plain.codes);
    return smaller;
  }

  bool SmallSeed() {
    for (std::uint64_t seed = 0; seed < 4 && seed < best_.smallest.problem.seed; ++seed) {
      if (Set(&Problem::seed, seed)) return true;
    }
    return false;
  }

  const std::set<Reason> reasons_;
  const std::function<Verdict(const Case&)>& judge_;
  const int budget_;
  const std::function<bool()>& stop_;
  std::set<std::string> tried_;
  Shrunk best_;
};

}  // namespace

Shrunk Shrink(const Case& failing, const Verdict& verdict,
              const std::function<Verdict(const Case&)>& judge, int budget,
              const std::function<bool()>& stop) {
  return Search(failing, verdict, judge, budget, stop).Run();
}

}  // namespace assay
