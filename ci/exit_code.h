// The exit codes of `assay`, and which one wins when several classes of failure meet.
#pragma once

#include <string_view>
#include <vector>

#include "reports/finding.h"

namespace assay {

enum class ExitCode {
  kPass = 0,
  kWrongResult = 1,
  kUsage = 2,
  kPerformance = 3,
  kMemory = 4,  // memory or race
  kUnfit = 5,   // this machine cannot do it
  kNothingJudged = 77,
  kHarnessFault = 99,
};

// The class of failure that a finding of this check stands for. `memory` (reads and writes outside
// a tensor, threads that miss a barrier) is kMemory; every other check, ownership too, says that
// the result is not the layer's: kWrongResult.
ExitCode ClassOf(std::string_view check);

// The one of the two to report: 99 over 4 over 1 over 3 over 2 over 5 over 77 over 0.
ExitCode Worse(ExitCode a, ExitCode b);

ExitCode WorstOf(const std::vector<Finding>& findings);

}  // namespace assay
