#include "ci/judge_lines.h"

#include <fmt/ostream.h>
#include <omp.h>

#include "ci/case_lines.h"
#include "ci/case_report.h"
#include "ci/words.h"

namespace assay {
namespace {

std::vector<Case> CasesOf(const CheckOptions& options, Console& console) {
  std::vector<Case> cases;
  for (NamedCase& named : ReadCases(options.lines, console.in)) {
    Case c = named.value;
    if (!options.checks.empty()) c.checks = FromWord<Checks>("--checks", options.checks);
    if (!options.device.empty()) c.device = FromWord<Device>("--device", options.device);
    cases.push_back(c);
  }
  if (cases.empty()) {
    throw UsageError(
        "no case line was given: write one, or name a file as @cases.txt or - for stdin");
  }
  for (const Case& c : cases) RequireDevice(c.device);
  return cases;
}

}  // namespace

Verdict RunAlone(const Case& c, World* world) {
  RunCaseOptions options;
  options.threads = omp_get_max_threads();
  options.world = world;
  return RunCase(c, options);
}

void PrintTally(const Tally& tally, Console& console) {
  for (const std::string& line : tally.Lines()) fmt::print(console.out, "{}\n", line);
}

ExitCode JudgeLines(const CheckOptions& options, Console& console, bool verbose,
                    const std::function<Verdict(const Case&)>& judge) {
  Tally tally;
  for (const Case& c : CasesOf(options, console)) {
    const Verdict verdict = judge(c);
    tally.Add(verdict);
    PrintVerdict(console.out, c, verdict, verbose);
    fmt::print(console.out, "\n");
  }
  PrintTally(tally, console);
  return tally.Exit();
}

}  // namespace assay
