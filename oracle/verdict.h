// The verdict on one case.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gpu/run/run_record.h"
#include "reports/finding.h"

namespace assay {

enum class Outcome { kPassed, kFailed, kRefused, kSkipped, kVacuous };
enum class Checks { kFast, kStandard, kAll };

// What was really compared: a pass that compared nothing is no pass.
struct Work {
  std::int64_t elements = 0;     // outputs judged against the contract
  std::int64_t experts = 0;      // distinct routed experts whose weights mattered
  std::int64_t scale_bytes = 0;  // scale bytes the ledger compared
  std::int64_t launches = 0;     // kernels that ran
  double powerful = 0;           // share of outputs with |y| > 3 B; a sum weighs by elements
  Work& operator+=(const Work& other);
};

struct Verdict {
  Outcome outcome = Outcome::kPassed;
  std::string reason;                // rule of a refusal, reason of a skip or of a vacuous case
  Landing landing{};                 // what was asked and where it landed
  std::vector<std::string> kernels;  // launched, in order, repeats folded
  std::vector<LaunchInfo> launches;  // of the judged run, in order
  int distinct_experts = 0;          // that the step's ids name
  std::string contract;
  std::vector<Finding> findings;
  double worst_margin = 0;  // largest |y - y*| / admissible distance; <= 1 inside the contract
  std::uint64_t output_hash = 0;  // FNV-1a of the output bytes
  Work work;
  std::vector<std::string>
      notes;  // what could not be judged although its level asks for it, and why
  // By stage: build (the caller's), path_runs, host_replay, reference, fallback_run, judge.
  std::map<std::string, double> seconds;
};

}  // namespace assay
