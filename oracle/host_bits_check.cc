#include "oracle/host_bits_check.h"

#include <fmt/format.h>

#include "oracle/same_bits.h"
#include "oracle/stage_check.h"

namespace assay {
std::vector<Finding> CheckHostBits(const CaseContext& context, const RunRecord& run,
                                   const RunRecord& replay, const FreeOrder* free) {
  const auto difference = FirstDifference(context, run, replay, Compared::kEverything, free);
  if (!difference) return {};
  Finding finding = NewFinding(context, "host_bits", "bits_differ",
                               KernelOf(run, StageOfTensor(difference->tensor)));
  finding.summary =
      fmt::format("GPU and host executor differ: {} at {}: GPU {}, host {}; {} of {} elements",
                  difference->tensor, difference->where, difference->left, difference->right,
                  difference->count, difference->total);
  difference->AddTo(finding, "gpu", "host");
  AddEvidence(finding, "stage", StageOfTensor(difference->tensor));
  return {finding};
}

}  // namespace assay
