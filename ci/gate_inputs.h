// What the policy names and the gate reads: looked at before the first case, so that a slip in the
// policy does not cost a run.
#pragma once

#include <string>
#include <vector>

#include "ci/gate_policy.h"
#include "fuzz/case.h"

namespace assay {

struct GateInputs {
  std::vector<Case> corpus;
  std::vector<std::string> golden_folders;  // where they are on this machine
};

// Throws UsageError that names the key of the policy and the file or folder.
GateInputs ReadGateInputs(const GatePolicy& policy);

}  // namespace assay
