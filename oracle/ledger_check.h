// The ledger of scale bytes: every byte that the layer needs was read, and no other was. What is
// needed follows from the layer and the chosen experts, never from the kernel.
#pragma once

#include <vector>

#include "oracle/case_context.h"

namespace assay {

struct LedgerResult {
  std::vector<Finding> findings;
  std::int64_t compared = 0;  // scale bytes looked at: needed ones, and others that a tensor has
};

// `run` must carry a ledger (a checked run of the host executor).
LedgerResult CheckLedger(const CaseContext& context, const RunRecord& run);

}  // namespace assay
