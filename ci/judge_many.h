// Judges a list of cases over worker threads, one case a thread, OpenMP off inside.
#pragma once

#include <functional>
#include <vector>

#include "fuzz/run_case.h"

namespace assay {

// Verdicts in the order of the cases; those that `stop` left out are skipped ("interrupted").
// `workers` 0: one a core. `done` is called under a lock after each verdict. The first exception of
// a case is thrown again here.
std::vector<Verdict> JudgeMany(const std::vector<Case>& cases, int workers,
                               const std::function<void(const Verdict&)>& done = {},
                               const std::function<bool()>& stop = {});

}  // namespace assay
