// Whether the numeric judgement of a case could have failed: trivial outputs must be rejected, and
// most elements must stand clear of their own bound.
#pragma once

#include <string>

#include "oracle/case_context.h"

namespace assay {

struct PowerResult {
  double powerful = 0;  // share of elements with |y*| > 3 B, B = HalfWidth of the interval
  std::string vacuous;  // why the case is vacuous; empty: it is not
};

PowerResult MeasurePower(const CaseContext& context, const RunRecord& run,
                         const OutputExpected& expected);

}  // namespace assay
