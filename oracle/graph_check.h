// A step that was captured and replayed twice: both replays and the plain launches agree.
#pragma once

#include <vector>

#include "oracle/case_context.h"
#include "oracle/free_order.h"

namespace assay {

// `graph`: a run of two replays; `plain`: the same path, launch by launch. With `free` the outputs
// may differ by what it explains.
std::vector<Finding> CheckGraph(const CaseContext& context, const RunRecord& graph,
                                const RunRecord& plain, const FreeOrder* free = nullptr);

}  // namespace assay
