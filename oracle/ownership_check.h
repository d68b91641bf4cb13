// Accesses inside a tensor that touch what another weight owns, or an expert that nothing routed.
#pragma once

#include <vector>

#include "oracle/case_context.h"

namespace assay {

// `replay`: the host replay of a GPU run, null on the host.
std::vector<Finding> CheckOwners(const CaseContext& context, const RunRecord& run,
                                 const RunRecord* replay);

}  // namespace assay
