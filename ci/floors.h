// The floors of the policy: a gate that compared too little fails, whatever its verdicts.
#pragma once

#include <string>
#include <vector>

#include "ci/gate_policy.h"
#include "fuzz/campaign.h"

namespace assay {

struct Floor {
  std::string name;                    // "own_kernel_cases of 'k3 nvfp4 ...'"
  Outcome outcome = Outcome::kPassed;  // passed, failed or skipped
  std::string text;                    // what was counted and demanded, or why it was not judged
};

// `cases`: how many were asked for; if fewer than the policy's, what counts over all its cases is
// skipped. `goldens`: how many passed.
std::vector<Floor> JudgeFloors(const GatePolicy& policy, std::int64_t cases,
                               const CampaignResult& result, std::int64_t goldens);

}  // namespace assay
