#include <fmt/format.h>
#include <omp.h>

#include "ci/commands.h"
#include "ci/judge_lines.h"
#include "ci/prove_fault.h"

namespace assay {
namespace {

Verdict ReplayPlanted(const Fault& fault, const Case& c) {
  if (!Applies(fault, c.path, c.problem)) {
    throw UsageError(fmt::format("fault {} cannot show on '{}': try its own case '{}'", fault.name,
                                 ToLine(c), ToLine(fault.smallest)));
  }
  return RunCase(c, Planted(fault, c.path, omp_get_max_threads()));
}

}  // namespace

ExitCode RunReplay(const ReplayOptions& options, Console& console) {
  const Fault* fault = options.fault.empty() ? nullptr : &RequireFault(options.fault);
  return JudgeLines(options.check, console, true, [fault](const Case& c) {
    return fault == nullptr ? RunAlone(c) : ReplayPlanted(*fault, c);
  });
}

}  // namespace assay
