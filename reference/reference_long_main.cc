// Many random cases of every rounding contract: nothing may leave its admissible set, everything
// two BF16 steps outside must be rejected. Prints a table, appends records, exit code 1 on failure.
//   reference_long CASES_PER_CONTRACT [RECORDS.jsonl COMMIT]
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "oracle/numeric_check.h"
#include "reference/bounds_study.h"

namespace assay {
namespace {

using bounds_study::Tally;

bool Holds(const Tally& t) {
  return t.outside_own == 0 && t.outside_free == 0 && t.moved > 0 && t.accepted_two_steps == 0 &&
         t.unbounded == 0;
}

long RejectedByTheOracle(std::span<const std::uint16_t> output, const OutputExpected& expected) {
  const NumericResult result = JudgeOutput(output, expected);
  // What it does not judge (never written) was not drawn here.
  return result.judged == static_cast<std::int64_t>(output.size()) ? result.wrong : -1;
}

Tally Study(const Contract& contract, long cases) {
  Tally tally;
  tally.contract = contract.name;
  for (long seed = 0; seed < cases; ++seed)
    bounds_study::RunCase(static_cast<std::uint64_t>(seed), contract, RejectedByTheOracle, tally);
  return tally;
}

void Print(const Tally& t) {
  std::printf("%-18s %7ld %8ld %9ld  %8.2e %8.2e  %8.2e %8.2e  %ld %ld %ld %ld\n",
              t.contract.c_str(), t.cases, t.evaluations, t.elements, bounds_study::Median(t.own),
              bounds_study::Most(t.own), bounds_study::Median(t.free), bounds_study::Most(t.free),
              t.outside_own, t.outside_free, t.accepted_two_steps, t.unbounded);
  std::fflush(stdout);
}

std::string CpuName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name")) return line.substr(line.find(": ") + 2);
  return "unknown";
}

void Record(const Tally& t, const char* path, const char* commit, long cases) {
  const nlohmann::ordered_json record{
      {"schema", 1},
      {"type", "point"},
      {"suite", "reference_bounds"},
      {"name", t.contract},
      {"cases", t.cases},
      {"large_cases", t.large_cases},
      {"evaluations", t.evaluations},
      {"elements", t.elements},
      {"own_median", bounds_study::Median(t.own)},
      {"own_largest", bounds_study::Most(t.own)},
      {"free_median", bounds_study::Median(t.free)},
      {"free_largest", bounds_study::Most(t.free)},
      {"outside_own", t.outside_own},
      {"outside_free", t.outside_free},
      {"moved_two_steps", t.moved},
      {"accepted_two_steps", t.accepted_two_steps},
      {"unbounded", t.unbounded},
      {"commit", commit},
      {"command", "reference_long " + std::to_string(cases)},
      {"environment", {{"cpu", CpuName()}, {"compiler", __VERSION__}}}};
  std::ofstream(path, std::ios::app) << record.dump() << '\n';
}

int Main(int argc, char** argv) {
  const long cases = argc > 1 ? std::atol(argv[1]) : 0;
  if (cases < 1 || argc == 3 || argc > 4) {
    std::fprintf(stderr, "usage: reference_long CASES_PER_CONTRACT [RECORDS.jsonl COMMIT]\n");
    return 2;
  }
  std::printf(
      "observed / bound before the last rounding, by element\n"
      "contract             cases    evals  elements  own: median, largest  order-free: the same  "
      "outside own, free; two steps accepted; unbounded\n");
  bool holds = true;
  for (const Contract& contract : bounds_study::StudiedContracts()) {
    const Tally tally = Study(contract, cases);
    Print(tally);
    if (argc == 4) Record(tally, argv[2], argv[3], cases);
    holds = holds && Holds(tally);
  }
  std::printf(holds ? "holds\n" : "DOES NOT HOLD\n");
  return holds ? 0 : 1;
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) { return assay::Main(argc, argv); }
