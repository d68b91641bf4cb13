#include <fmt/ostream.h>

#include "ci/commands.h"
#include "ci/data_dir.h"
#include "ci/golden_tally.h"
#include "ci/judge_lines.h"
#include "ci/table.h"
#include "ci/words.h"

namespace assay {
namespace {

void AddTensors(const GoldenResult& result, Table& table) {
  for (const auto& [tensor, error] : result.tensors) {
    table.Add({"  " + tensor, "", fmt::format("error {:.3g}", error)});
  }
}

}  // namespace

ExitCode RunGolden(const GoldenOptions& options, Console& console) {
  const std::string folder =
      options.folder.empty() ? DataPath("reference/testdata/goldens") : options.folder;
  Table table({"golden", "outcome", "largest error, or why"});
  Tally tally;
  for (const GoldenResult& result : EvaluateGoldens(folder)) {
    Count(result, tally);
    table.Add({result.name, std::string(NameOf(OutcomeOf(result))), GoldenText(result)});
    if (options.verbose) AddTensors(result, table);
  }
  fmt::print(console.out, "{}\n", table.Text());
  PrintTally(tally, console);
  return tally.Exit();
}

}  // namespace assay
