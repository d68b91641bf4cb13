// Runs many cases over worker threads (one case a thread, OpenMP off inside), counts what ran.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "fuzz/generate.h"
#include "fuzz/run_case.h"

namespace assay {

struct CampaignOptions {
  Distribution distribution = Distribution::kDefault;
  std::uint64_t seed = 0;
  std::int64_t cases = 1000;  // stop after these ...
  double seconds = 0;         // ... or after this time, if > 0
  int workers = 0;            // 0: one per core
  Checks checks = Checks::kStandard;
  Device device = Device::kHost;
  std::vector<PathId> paths;  // empty: all
  RunCaseOptions run;
};

struct CampaignResult {
  std::int64_t passed = 0, failed = 0, refused = 0, skipped = 0,
               vacuous = 0;  // refused are passes too
  // Cases that ran the landed path's own kernels, by its cell and by its variants (cells.h).
  std::map<std::string, std::int64_t> own_kernels, variants;
  std::map<std::string, std::int64_t> reasons;     // refusal rules and skip reasons
  std::map<std::string, double> seconds;           // summed over workers, by stage
  std::vector<std::pair<Case, Verdict>> failures;  // ordered by case number, not yet shrunk
  Work work;
  double median_hidden = 0, median_inter = 0, worst_margin = 0, wall_seconds = 0;
  bool interrupted = false;
};

// `each` is called in case order (under a lock) after each verdict; `stop` ends the campaign
// cleanly with what it has.
CampaignResult RunCampaign(
    const CampaignOptions& options,
    const std::function<void(std::int64_t, const Case&, const Verdict&)>& each = {},
    const std::function<bool()>& stop = {});

}  // namespace assay
