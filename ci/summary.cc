#include "ci/summary.h"

#include <fmt/format.h>

#include "ci/fuzz_report.h"

namespace assay {
namespace {

std::string Section(const std::string& title, const Table& table) {
  return table.empty() ? "" : fmt::format("\n## {}\n\n{}", title, table.Markdown());
}

Table Counts(const std::map<std::string, std::int64_t>& counts, const std::string& what) {
  Table table({what, "cases"});
  for (const auto& [name, count] : counts) table.Add({name, std::to_string(count)});
  return table;
}

// Half a gate is neither passed nor, without a failure, failed.
std::string Title(const Summary& summary, const Tally& total) {
  if (summary.interruption.empty()) return total.Exit() == ExitCode::kPass ? "passed" : "FAILED";
  return total.failed > 0 ? "interrupted, FAILED before" : "interrupted";
}

}  // namespace

Table TableOf(const std::vector<StageResult>& stages) {
  Table table({"stage", "passed", "refused", "failed", "skipped", "seconds"});
  for (const StageResult& stage : stages) {
    const Tally& tally = stage.tally;
    table.Add({stage.name, std::to_string(tally.passed), std::to_string(tally.refused),
               std::to_string(tally.failed), std::to_string(tally.skipped),
               fmt::format("{:.1f}", stage.seconds)});
  }
  return table;
}

Tally TotalOf(const std::vector<StageResult>& stages) {
  Tally total;
  for (const StageResult& stage : stages) total += stage.tally;
  return total;
}

std::string SummaryMarkdown(const Summary& summary, const FindingsLog& log) {
  const Tally total = TotalOf(summary.stages);
  std::string text =
      fmt::format("# assay gate: {}\n\n{}, {}\n\n{}", Title(summary, total), summary.version,
                  summary.device, TableOf(summary.stages).Markdown());
  if (!summary.interruption.empty()) text += "\nThe gate was " + summary.interruption + ".\n";
  if (!summary.failures.empty()) {
    text += "\n## What failed\n\n";
    for (const std::string& failure : summary.failures) text += "- " + failure + "\n";
  }
  text += Section("Findings", FoldedTable(log));
  text += Section("Refused, by rule", Counts(total.refusals, "rule"));
  text += Section("Skipped, by reason", Counts(total.skips, "reason"));
  text += Section("Cases that ran the path's own kernels", summary.cells);
  for (const std::string& line : total.Lines()) text += "\n" + line + "\n";
  return text;
}

}  // namespace assay
