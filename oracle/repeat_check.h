// Runs of one case against each other: the same bytes again, and other bytes where none may matter.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu/run/runner.h"
#include "oracle/case_context.h"
#include "oracle/free_order.h"
#include "oracle/verdict.h"

namespace assay {

struct RepeatResult {
  std::vector<Finding> findings;
  std::vector<std::string> notes;  // what could not be judged, and why
};

using RunPath = std::function<RunRecord(const RunOptions&)>;

// `checked`: a checked run with Poison::kOnes after which unchecked code may run. Runs the path at
// least twice more: unchecked with the same poison (repeat; it also shows that the checked build
// computes what the shipped one does), then with other poison. Outputs, ids and weights must be the
// same bits; with `free` the outputs may differ by what the order of additions explains. Without a
// clean repeat the poison pair says nothing and is left out.
RepeatResult CheckRepeats(const CaseContext& context, const RunRecord& checked, const RunPath& run,
                          Checks level, const FreeOrder* free = nullptr);

}  // namespace assay
