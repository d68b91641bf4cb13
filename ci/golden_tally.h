// The golden vectors as counts and lines: what `assay golden` and the gate share.
#pragma once

#include <string>

#include "ci/tally.h"
#include "reference/golden.h"

namespace assay {

Outcome OutcomeOf(const GoldenResult& result);

// The reason of a failure or a skip; of a pass, what was compared and the largest error.
std::string GoldenText(const GoldenResult& result);

void Count(const GoldenResult& result, Tally& tally);

}  // namespace assay
