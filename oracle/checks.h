// The list of checks: what each proves, and what it cannot see.
#pragma once

#include <string>
#include <vector>

#include "oracle/verdict.h"

namespace assay {

struct CheckInfo {
  std::string name;        // Finding::check
  Checks level;            // the lowest level that runs it
  std::string proves;      // one line
  std::string cannot_see;  // one line
};

// In the order in which they run.
const std::vector<CheckInfo>& AllChecks();

}  // namespace assay
