#include "ci/floors.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ci/cells.h"

namespace assay {
namespace {

std::int64_t Scaled(std::int64_t floor, std::int64_t cases, std::int64_t of) {
  if (of <= 0 || cases >= of) return floor;
  return static_cast<std::int64_t>(static_cast<double>(floor) * static_cast<double>(cases) /
                                   static_cast<double>(of));
}

Floor AtLeast(const std::string& name, std::int64_t counted, std::int64_t floor) {
  return {name, counted >= floor, fmt::format("{} counted, at least {} demanded", counted, floor)};
}

// One entry a cell below the floor, or one that says that all hold.
void AddCells(const CampaignResult& result, std::int64_t floor, std::vector<Floor>& floors) {
  const std::vector<ThinCell> thin = ThinCells(result.own_kernels, floor);
  for (const ThinCell& cell : thin) {
    floors.push_back(AtLeast("own_kernel_cases of '" + cell.cell + "'", cell.cases, floor));
  }
  if (thin.empty()) {
    floors.push_back(
        {"own_kernel_cases", true,
         fmt::format("at least {} in each of {} cells", floor, RunningCells().size())});
  }
}

Floor VacuousShare(const GatePolicy& policy, const CampaignResult& result) {
  const std::int64_t judged = result.passed - result.refused + result.failed + result.vacuous;
  const double share =
      judged > 0 ? static_cast<double>(result.vacuous) / static_cast<double>(judged) : 0;
  return {"vacuous_share", share <= policy.vacuous_share,
          fmt::format("{:.4f} ({} of {} judged cases), at most {} allowed", share, result.vacuous,
                      judged, policy.vacuous_share)};
}

}  // namespace

std::vector<Floor> JudgeFloors(const GatePolicy& policy, std::int64_t cases,
                               const CampaignResult& result) {
  std::vector<Floor> floors;
  AddCells(result, Scaled(policy.own_kernel_cases, cases, policy.cases), floors);
  floors.push_back(
      AtLeast("elements", result.work.elements, Scaled(policy.elements, cases, policy.cases)));
  floors.push_back(
      AtLeast("experts", result.work.experts, Scaled(policy.experts, cases, policy.cases)));
  floors.push_back(VacuousShare(policy, result));
  return floors;
}

}  // namespace assay
