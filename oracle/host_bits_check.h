// A GPU run and the replay of the same kernels on the host executor: the same bits everywhere.
#pragma once

#include <vector>

#include "oracle/case_context.h"

namespace assay {

// Both runs checked with the same poison.
std::vector<Finding> CheckHostBits(const CaseContext& context, const RunRecord& run,
                                   const RunRecord& replay);

}  // namespace assay
