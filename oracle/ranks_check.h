// Check "ranks": after the last all-reduce every rank of an expert-parallel step holds the same
// selection and the same output, by the same kernels.
#pragma once

#include <vector>

#include "oracle/case_context.h"

namespace assay {

std::vector<Finding> CheckRanks(const CaseContext& context, const RunRecord& run);

}  // namespace assay
