// The golden vectors as counts: what `assay golden` and the gate share.
#pragma once

#include <string>
#include <vector>

#include "ci/tally.h"

namespace assay {

struct GoldenResult {
  std::string name;
  Outcome outcome = Outcome::kPassed;  // skipped: a feature that is not built yet
  std::string text;                    // largest error and bound, or the reason
};

// All golden files under `folder`, sorted by name. Throws UsageError if it holds none.
std::vector<GoldenResult> GoldenResults(const std::string& folder);

void Count(const GoldenResult& result, Tally& tally);

}  // namespace assay
