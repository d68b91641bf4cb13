// The floors of the policy: a gate that compared too little fails, whatever its verdicts.
#pragma once

#include <string>
#include <vector>

#include "ci/gate_policy.h"
#include "fuzz/campaign.h"

namespace assay {

struct Floor {
  std::string name;  // "own_kernel_cases k3 nvfp4 ..."
  bool held = true;
  std::string text;  // what was counted and what the policy demands
};

// `cases`: how many were asked for; count floors scale with cases / policy.cases, rounded down, so
// that a quick gate has quick floors. The share does not scale.
std::vector<Floor> JudgeFloors(const GatePolicy& policy, std::int64_t cases,
                               const CampaignResult& result);

}  // namespace assay
