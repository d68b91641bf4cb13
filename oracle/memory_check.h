// Reads and writes outside a tensor, and threads that do not meet at a barrier, in a checked run.
#pragma once

#include <vector>

#include "oracle/case_context.h"

namespace assay {

// `replay`: the host replay of a GPU run, null on the host. One finding a kind of fault.
std::vector<Finding> CheckMemory(const CaseContext& context, const RunRecord& run,
                                 const RunRecord* replay);

// Whether the build that ships, which has no extents, may run after this checked run: no access
// outside a tensor or to weights of an unrouted expert, no broken barrier.
bool SafeUnchecked(const RunRecord& checked);

}  // namespace assay
