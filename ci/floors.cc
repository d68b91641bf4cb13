#include "ci/floors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ci/cells.h"

namespace assay {
namespace {

Outcome Of(bool held) { return held ? Outcome::kPassed : Outcome::kFailed; }

Floor AtLeast(const std::string& name, std::int64_t counted, std::int64_t floor) {
  return {name, Of(counted >= floor),
          fmt::format("{} counted, at least {} demanded", counted, floor)};
}

using Counts = std::map<std::string, std::int64_t>;

// One entry a cell below the floor, or one that says that all hold.
void AddCells(const std::string& key, const std::vector<std::string>& served, const Counts& counts,
              std::int64_t floor, std::vector<Floor>& floors) {
  const std::vector<ThinCell> thin = ThinCells(served, counts, floor);
  for (const ThinCell& cell : thin) {
    floors.push_back(AtLeast(key + " of '" + cell.cell + "'", cell.cases, floor));
  }
  if (thin.empty()) {
    floors.push_back({key, Outcome::kPassed,
                      fmt::format("at least {} in each of {} cells", floor, served.size())});
  }
}

Floor VacuousShare(const GatePolicy& policy, const CampaignResult& result) {
  const std::int64_t judged = result.passed - result.refused + result.failed + result.vacuous;
  const double share =
      judged > 0 ? static_cast<double>(result.vacuous) / static_cast<double>(judged) : 0;
  return {"vacuous_share", Of(share <= policy.vacuous_share),
          fmt::format("{:.4f} ({} of {} judged cases), at most {} allowed", share, result.vacuous,
                      judged, policy.vacuous_share)};
}

// What counts over all cases of the policy.
void AddCounts(const GatePolicy& policy, const CampaignResult& result, std::vector<Floor>& floors) {
  AddCells("own_kernel_cases", RunningCells(), result.own_kernels, policy.own_kernel_cases, floors);
  AddCells("variant_cases", RunningVariants(), result.variants, policy.variant_cases, floors);
  floors.push_back(AtLeast("elements", result.work.elements, policy.elements));
  floors.push_back(AtLeast("experts", result.work.experts, policy.experts));
}

// Too few cases for a count to mean something: a few cells would miss by chance.
void SkipCounts(std::int64_t cases, std::int64_t of, std::vector<Floor>& floors) {
  const std::string why = fmt::format("only {} of {} cases were asked for", cases, of);
  for (const char* name : {"own_kernel_cases", "variant_cases", "elements", "experts"}) {
    floors.push_back({name, Outcome::kSkipped, why});
  }
}

}  // namespace

std::vector<Floor> JudgeFloors(const GatePolicy& policy, std::int64_t cases,
                               const CampaignResult& result, std::int64_t goldens) {
  std::vector<Floor> floors;
  if (cases < policy.cases) {
    SkipCounts(cases, policy.cases, floors);
  } else {
    AddCounts(policy, result, floors);
  }
  floors.push_back(VacuousShare(policy, result));
  floors.push_back(AtLeast("goldens", goldens, policy.goldens));
  return floors;
}

}  // namespace assay
