// A path must be no less accurate than the path it replaces, both measured against the double leg;
// where it promises the other's bits, these are compared.
#pragma once

#include <string>
#include <vector>

#include "oracle/case_context.h"

namespace assay {

struct FusedResult {
  std::vector<Finding> findings;
  std::string not_judged;  // why nothing was compared; empty: it was
  double ratio = 1;        // rms error of the path over that of the fallback
};

// The largest acceptable ratio of two rms errors with `freedom` independent elements each.
double RatioLimit(double freedom);

FusedResult CheckFused(const CaseContext& context, const RunRecord& path,
                       const OutputExpected& path_expected, const RunRecord& fallback,
                       const OutputExpected& fallback_expected);

// For a path that promises the bits of its fallback: ids, weights and output.
std::vector<Finding> CheckFallbackBits(const CaseContext& context, const RunRecord& path,
                                       const RunRecord& fallback);

// Every path sums a router logit in one stated order: its bits are the fallback's.
std::vector<Finding> CheckSameLogits(const CaseContext& context, const RunRecord& path,
                                     const RunRecord& fallback);

}  // namespace assay
