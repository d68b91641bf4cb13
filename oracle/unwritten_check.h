// Elements that no kernel wrote: every output starts as 0xFFFF, scratch as ones in the first run.
#pragma once

#include <vector>

#include "oracle/case_context.h"

namespace assay {

// `run` must have run with Poison::kOnes.
std::vector<Finding> CheckUnwritten(const CaseContext& context, const RunRecord& run);

}  // namespace assay
