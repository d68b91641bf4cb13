#include <fmt/ostream.h>
#include <omp.h>

#include <filesystem>
#include <functional>

#include "ci/commands.h"
#include "ci/output_files.h"
#include "ci/table.h"
#include "gpu/cuda/nccl.h"
#include "gpu/run/runner.h"
#include "reference/error.h"
#include "reports/environment.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// nullopt: the folder takes files. Otherwise the reason.
std::optional<std::string> WriteProblem(const fs::path& folder) {
  const std::string probe = (folder / "assay-doctor-probe").string();
  try {
    WriteWholeFile(probe, "probe");
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  std::error_code ignored;
  fs::remove(probe, ignored);
  return std::nullopt;
}

std::string FreeSpace(const fs::path& folder) {
  std::error_code error;
  const fs::space_info space = fs::space(folder, error);
  return error
             ? "writable"
             : fmt::format("writable, {:.1f} GB free", static_cast<double>(space.available) / 1e9);
}

std::string VersionText(const Environment& environment) {
  return fmt::format("assay {}, commit {}{}, {}, {}", environment.version, environment.git_sha,
                     environment.git_dirty ? " with changes" : "", environment.compiler,
                     environment.build_type);
}

}  // namespace

ExitCode RunDoctor(Console& console) {
  Table table({"what", "state", "says"});
  bool fit = true;
  // CUDA is not demanded: the host executor runs the same kernels.
  const auto add = [&](const std::string& what, const std::optional<std::string>& problem,
                       const std::string& fine, bool demanded) {
    const char* bad = demanded ? "UNFIT" : "no";
    table.Add({what, problem ? bad : "ok", problem.value_or(fine)});
    fit = fit && (!problem || !demanded);
  };
  const Environment environment = CaptureEnvironment();
  const fs::path here = fs::current_path();
  add("version", std::nullopt, VersionText(environment), true);
  add("processor", std::nullopt,
      fmt::format("{}, {} cores, {}", environment.cpu_model, environment.cores, environment.kernel),
      true);
  add("threads", std::nullopt, fmt::format("OpenMP uses {}", omp_get_max_threads()), true);
  add("arithmetic", ArithmeticProblem(), "no flush to zero, no contraction, exact division, FMA",
      true);
  const auto host = DeviceProblem(Device::kHost), cuda = DeviceProblem(Device::kCuda);
  add("host", host, host ? "" : DeviceName(Device::kHost), true);
  add("cuda", cuda, cuda ? "" : DeviceName(Device::kCuda), false);
  add("nccl", cuda ? cuda : NcclLoopbackProblem(), NcclName() + ", one rank gives back its values",
      false);
  add("folder " + here.string(), WriteProblem(here), FreeSpace(here), true);
  fmt::print(console.out, "{}", table.Text());
  return fit ? ExitCode::kPass : ExitCode::kUnfit;
}

}  // namespace assay
