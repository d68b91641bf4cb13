#include "ci/fuzz_report.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

double TotalSeconds(const CampaignResult& result) {
  double total = 0;
  for (const auto& [stage, seconds] : result.seconds) total += seconds;
  return total;
}

}  // namespace

std::int64_t CasesOf(const CampaignResult& result) {
  return result.passed + result.failed + result.skipped + result.vacuous;
}

std::string InterruptedText(std::int64_t done, std::int64_t total) {
  const std::string of = total > 0 ? fmt::format(" of {}", total) : "";
  return fmt::format("interrupted after {}{} cases", done, of);
}

Table CellTable(const CampaignResult& result) {
  Table table({"path format layout shared, and variants", "own-kernel cases"});
  for (const auto* counts : {&result.own_kernels, &result.variants}) {
    for (const auto& [name, cases] : *counts) table.Add({name, std::to_string(cases)});
  }
  return table;
}

Table ReasonTable(const CampaignResult& result) {
  Table table({"refused or skipped", "cases"});
  for (const auto& [reason, cases] : result.reasons) table.Add({reason, std::to_string(cases)});
  return table;
}

Table StageTable(const CampaignResult& result) {
  Table table({"stage", "seconds", "share", "ms a case"});
  const double total = TotalSeconds(result);
  const auto cases = static_cast<double>(std::max<std::int64_t>(1, CasesOf(result)));
  for (const auto& [stage, seconds] : result.seconds) {
    table.Add({stage, fmt::format("{:.2f}", seconds),
               fmt::format("{:.1f} %", total > 0 ? 100 * seconds / total : 0),
               fmt::format("{:.2f}", 1000 * seconds / cases)});
  }
  return table;
}

Table FoldedTable(const FindingsLog& log) {
  Table table({"fingerprint", "check", "path", "kernel", "class", "cases", "shortest line"});
  for (const FoldedFinding& folded : log.findings()) {
    const Finding& finding = folded.finding;
    table.Add({finding.Fingerprint(), finding.check, finding.path, finding.kernel,
               finding.error_class, std::to_string(folded.cases), ToLine(folded.smallest)});
  }
  return table;
}

std::string CampaignLine(const CampaignResult& result) {
  const double rate =
      result.wall_seconds > 0 ? static_cast<double>(CasesOf(result)) / result.wall_seconds : 0;
  return fmt::format(
      "{} cases in {:.1f} s, {:.1f} a second; median hidden {}, inter {}; worst margin {:.4f}; "
      "{} elements, {} experts, {} scale bytes compared; {} vacuous{}",
      CasesOf(result), result.wall_seconds, rate, result.median_hidden, result.median_inter,
      result.worst_margin, result.work.elements, result.work.experts, result.work.scale_bytes,
      result.vacuous, result.interrupted ? "; interrupted" : "");
}

}  // namespace assay
