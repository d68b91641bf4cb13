// Shrinks a failing case to the shortest line that still fails for the same reason.
#pragma once

#include <functional>

#include "fuzz/case.h"

namespace assay {

struct Shrunk {
  Case smallest;
  Verdict verdict;         // of `smallest`
  int runs = 0;            // cases tried
  bool exhausted = false;  // the budget ended the search
};

// `judge` runs a case; a candidate is kept only if it fails with a finding of the same check and
// class (Finding::check, error_class). Order: experts, top_k, rows, hidden, inter, features, data,
// seed. Stops after `budget` runs or when `stop` says so.
Shrunk Shrink(const Case& failing, const Verdict& verdict,
              const std::function<Verdict(const Case&)>& judge, int budget = 400,
              const std::function<bool()>& stop = {});

}  // namespace assay
