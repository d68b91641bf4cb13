// The kernels that ran are those that the landed path declares, in its order.
#pragma once

#include <vector>

#include "oracle/case_context.h"

namespace assay {

// `expected`: ExpectedKernels of the landed path.
std::vector<Finding> CheckLaunches(const CaseContext& context, const RunRecord& run,
                                   const std::vector<std::string>& expected);

// Names in order of first launch, each once.
std::vector<std::string> FoldedKernels(const RunRecord& run);

}  // namespace assay
