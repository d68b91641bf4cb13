#include "reports/environment.h"

#include <sched.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <fstream>

#include "reports/build_info.h"
#include "reports/stable_hash.h"

namespace assay {

namespace {

std::string CpuModel() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

int Cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
}

std::string HostId(const utsname& system) {
  StableHash hash;
  hash.AddField(system.nodename);
  return hash.Hex();
}

}  // namespace

Environment CaptureEnvironment() {
  utsname system{};
  uname(&system);
  Environment environment;
  environment.host_id = HostId(system);
  environment.kernel = std::string(system.sysname) + " " + system.release;
  environment.cpu_model = CpuModel();
  environment.cores = Cores();
  environment.version = kBuildVersion;
  environment.git_sha = kBuildGitSha;
  environment.git_dirty = kBuildGitDirty;
  environment.compiler = kBuildCompiler;
  environment.build_type = kBuildType;
  return environment;
}

nlohmann::json RunFields(const Environment& environment, const std::string& started_utc,
                         const std::string& reason) {
  StableHash id;  // two runs of one host differ by their start or their process
  id.AddField(environment.host_id);
  id.AddField(started_utc);
  id.AddField(std::to_string(getpid()));
  return {{"id", id.Hex()},
          {"started_utc", started_utc},
          {"reason", reason},
          {"git_sha", environment.git_sha},
          {"git_dirty", environment.git_dirty},
          {"host_id", environment.host_id},
          {"env",
           {{"kernel", environment.kernel},
            {"cpu_model", environment.cpu_model},
            {"cores", environment.cores},
            {"version", environment.version},
            {"compiler", environment.compiler},
            {"build_type", environment.build_type}}}};
}

std::string NowUtc() {
  const time_t now = time(nullptr);
  tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace assay
