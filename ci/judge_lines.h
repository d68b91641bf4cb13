// What `check` and `replay` share: read the lines, judge each, print each, count.
#pragma once

#include <functional>

#include "ci/commands.h"
#include "ci/tally.h"
#include "fuzz/run_case.h"

namespace assay {

// One case with all OpenMP threads for itself.
Verdict RunAlone(const Case& c, World* world = nullptr);

// Writes the closing lines of a command that judges.
void PrintTally(const Tally& tally, Console& console);

ExitCode JudgeLines(const CheckOptions& options, Console& console, bool verbose,
                    const std::function<Verdict(const Case&)>& judge);

}  // namespace assay
