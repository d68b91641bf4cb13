// The guards of each path, in their production order: the first that applies decides. One table,
// read by dispatch, by the support matrix and by the generators.
#pragma once

#include <span>
#include <string_view>

#include "gpu/paths.h"

namespace assay {

struct Guard {
  std::string_view rule;  // what a refusal or a fallback names
  Decision::Kind kind;    // kRefuses or kFallsBack (to batched)
  std::string_view why;   // one line for people
  bool (*applies)(const Problem&);
};

std::span<const Guard> GuardsOf(PathId path);

// The guard that decides; null: the path runs.
const Guard* FirstGuard(PathId path, const Problem& problem);

// Production's pure decision of K=3: E8M0 experts go token by token, because the batch3_t kernel
// reads one scale per 16 columns and the tables hold one per 32.
bool K3E8m0NeedsPerToken(const Problem& problem);

}  // namespace assay
