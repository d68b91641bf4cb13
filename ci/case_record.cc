#include "ci/case_record.h"

#include <fmt/format.h>

#include "ci/words.h"

namespace assay {

namespace {

// In order; registers are 0 on the host executor.
nlohmann::json LaunchesOf(const Verdict& verdict) {
  nlohmann::json launches = nlohmann::json::array();
  for (const LaunchInfo& launch : verdict.launches)
    launches.push_back({{"kernel", launch.kernel},
                        {"grid", {launch.grid.x, launch.grid.y, launch.grid.z}},
                        {"threads", launch.threads},
                        {"shared_bytes", launch.shared_bytes},
                        {"registers", launch.registers}});
  return launches;
}

}  // namespace

nlohmann::json CaseRecord(const std::string& run_id, const std::string& suite, const Case& c,
                          const Verdict& verdict) {
  nlohmann::json record = {{"run_id", run_id},
                           {"kind", suite},
                           {"repro", ToLine(c)},
                           {"verdict", NameOf(verdict.outcome)},
                           {"reason", verdict.reason},
                           {"contract", verdict.contract},
                           {"kernels", verdict.kernels},
                           {"launches", LaunchesOf(verdict)},
                           {"distinct_experts", verdict.distinct_experts},
                           {"margin", verdict.worst_margin},
                           {"out_hash", fmt::format("{:016x}", verdict.output_hash)},
                           {"elements", verdict.work.elements},
                           {"experts", verdict.work.experts},
                           {"scale_bytes", verdict.work.scale_bytes},
                           {"seconds", verdict.seconds}};
  if (!verdict.landing.decisions.empty()) record["landed"] = verdict.landing.ToText();
  std::vector<std::string> fingerprints;
  for (const Finding& finding : verdict.findings) fingerprints.push_back(finding.Fingerprint());
  record["findings"] = fingerprints;
  return record;
}

}  // namespace assay
