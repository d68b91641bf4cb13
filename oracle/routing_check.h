// Routing: the stored logits, then ids and weights as they follow from those same logits.
#pragma once

#include <vector>

#include "oracle/case_context.h"

namespace assay {

// Ids for which the layer has no weights, because no admissible routing chooses them. With one of
// them nothing numeric can be judged.
std::vector<Finding> CheckLegalIds(const CaseContext& context, const RunRecord& run,
                                   const RouterExpected& expected);

// Each row's ids and weights against its own stored logits, and these against the exact ones. A run
// that shows no logits is judged by the admissible intervals alone, ids only.
std::vector<Finding> CheckRouting(const CaseContext& context, const RunRecord& run,
                                  const RouterExpected& expected);

}  // namespace assay
