#include "gpu/dispatch/atomic_scratch.h"

#include <string>

#include "reference/error.h"

namespace assay {

void RequireAtomicScratch(const Problem& problem, Index have) {
  const Index need = AtomicScratchOf(problem).bytes;
  if (have >= need) return;
  throw UsageError("atomic_c4 scratch: need " + std::to_string(need) + " bytes for top_k=" +
                   std::to_string(problem.top_k) + " hidden=" + std::to_string(problem.hidden) +
                   ", have " + std::to_string(have) + "; give the path a larger arena");
}

}  // namespace assay
