#include "oracle/ranks_check.h"

#include <fmt/format.h>

namespace assay {

std::vector<Finding> CheckRanks(const CaseContext& context, const RunRecord& run) {
  if (run.rank_differences.empty()) return {};
  const RankDifference& first = run.rank_differences.front();
  Finding finding = NewFinding(context, "ranks", "ranks_disagree");
  finding.summary = fmt::format("rank {} of {} ends with other {} than rank 0, first at index {}",
                                first.rank, context.layer.problem.ep, first.what, first.index);
  for (const RankDifference& difference : run.rank_differences)
    AddEvidence(finding, fmt::format("rank_{}_{}", difference.rank, difference.what),
                fmt::format("first at index {}", difference.index));
  return {finding};
}

}  // namespace assay
