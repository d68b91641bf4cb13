// Where and with which build a run was made: the fields of {"schema":1,"type":"run",...}.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace assay {

struct Environment {
  std::string host_id;    // hash of the host name: tells hosts apart without naming them
  std::string kernel;     // "Linux 6.1.0"
  std::string cpu_model;  // "unknown" where the system does not say
  int cores = 0;          // that this process may use
  std::string version, git_sha, compiler, build_type;
  bool git_dirty = false;  // tracked files differed from the commit when the build was configured
};

Environment CaptureEnvironment();

// `started_utc` like 2025-01-31T12:00:00Z; `reason`: pr, main, nightly, manual or bisect.
nlohmann::json RunFields(const Environment& environment, const std::string& started_utc,
                         const std::string& reason);

std::string NowUtc();  // as `started_utc`

}  // namespace assay
