// The numeric contract: every output lies in the interval that the replicating reference admits,
// given the path's own ids and weights.
#pragma once

#include <span>
#include <vector>

#include "oracle/case_context.h"
#include "oracle/stage_check.h"

namespace assay {

struct NumericResult {
  std::int64_t judged = 0, wrong = 0, first = -1;  // `first`: index of the first wrong element
  double worst_margin = 0;                         // see Margin(); > 1 iff something is wrong
  std::int64_t worst = -1;
};

// Elements that were never written are left out: the check unwritten reports them.
NumericResult JudgeOutput(std::span<const std::uint16_t> output, const OutputExpected& expected);

// Whether the contract admits `output`, unwritten elements counted as wrong; stops at the first
// that it does not.
bool Admits(std::span<const std::uint16_t> output, const OutputExpected& expected);

std::vector<Finding> CheckNumeric(const CaseContext& context, const RunRecord& run,
                                  const OutputExpected& expected, const NumericResult& result,
                                  const std::vector<StageResult>& stages);

}  // namespace assay
