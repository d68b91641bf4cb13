// A GPU run and the replay of the same kernels on the host executor: the same bits everywhere.
#pragma once

#include <vector>

#include "oracle/case_context.h"
#include "oracle/free_order.h"

namespace assay {

// Both runs checked with the same poison. With `free` the outputs may differ by what it explains.
std::vector<Finding> CheckHostBits(const CaseContext& context, const RunRecord& run,
                                   const RunRecord& replay, const FreeOrder* free = nullptr);

}  // namespace assay
