#include <fmt/ostream.h>

#include <limits>

#include "ci/commands.h"
#include "ci/fuzz_report.h"
#include "ci/interrupt.h"
#include "ci/judge_lines.h"
#include "ci/output_files.h"
#include "ci/progress.h"
#include "ci/shrink_findings.h"
#include "ci/words.h"
#include "reports/finding_text.h"
#include "reports/record.h"

namespace assay {
namespace {

constexpr std::int64_t kDefaultCases = 1000;

CampaignOptions CampaignOf(const FuzzOptions& options) {
  CampaignOptions campaign;
  campaign.distribution = FromWord<Distribution>("--distribution", options.distribution);
  campaign.seed = options.seed;
  campaign.seconds = options.time.empty() ? 0 : SecondsFromWord(options.time);
  const auto unlimited = std::numeric_limits<std::int64_t>::max();
  campaign.cases = options.cases > 0      ? options.cases
                   : campaign.seconds > 0 ? unlimited
                                          : kDefaultCases;
  campaign.workers = WorkersFromWord(options.workers);
  campaign.checks = FromWord<Checks>("--checks", options.checks);
  campaign.device = FromWord<Device>("--device", options.device);
  for (const std::string& path : options.paths) {
    campaign.paths.push_back(FromWord<PathId>("--paths", path));
  }
  RequireDevice(campaign.device);
  return campaign;
}

void PrintTable(std::string_view title, const Table& table, Console& console) {
  if (!table.empty()) fmt::print(console.out, "\n{}\n{}", title, table.Text(2));
}

void PrintReport(const CampaignResult& result, const FindingsLog& log, Console& console) {
  PrintTable("own-kernel cases by cell", CellTable(result), console);
  PrintTable("refused and skipped", ReasonTable(result), console);
  PrintTable("where the time goes (all workers)", StageTable(result), console);
  for (const FoldedFinding& folded : log.findings()) {
    fmt::print(console.out, "\nin {} case{}, first '{}'\n{}", folded.cases,
               folded.cases == 1 ? "" : "s", ToLine(folded.first), FindingText(folded.finding));
  }
  PrintTable("findings, folded by fingerprint", FoldedTable(log), console);
  fmt::print(console.out, "\n{}\n", CampaignLine(result));
  if (!log.findings().empty()) fmt::print(console.out, "findings are in {}\n", log.path());
}

// 0: as many as the time allows.
std::int64_t KnownCases(const CampaignOptions& campaign) {
  return campaign.cases == std::numeric_limits<std::int64_t>::max() ? 0 : campaign.cases;
}

CampaignResult Campaign(const CampaignOptions& campaign, FindingsLog& log, Tally& tally,
                        Console& console) {
  Progress progress(console, "fuzz", KnownCases(campaign), campaign.seconds);
  std::int64_t done = 0;
  return RunCampaign(
      campaign,
      [&](std::int64_t, const Case& c, const Verdict& verdict) {
        tally.Add(verdict);
        if (verdict.outcome == Outcome::kFailed) log.Add(c, verdict);
        progress.At(++done, tally.failed);
      },
      Interrupted);
}

}  // namespace

ExitCode RunFuzz(const FuzzOptions& options, Console& console) {
  const CampaignOptions campaign = CampaignOf(options);
  MakeFolder(options.out);
  FindingsLog log(options.out + "/findings.jsonl", FindingsLog::Earlier::kKept);
  const InterruptScope scope;
  Tally tally;
  CampaignResult result;
  try {
    result = Campaign(campaign, log, tally, console);
    ShrinkFindings(
        log, result, [&](const Case& c) { return RunCase(c, campaign.run); }, Interrupted);
  } catch (const RecordError& error) {
    throw EnvironmentError(fmt::format("{}; kept: {} of {} findings, {} failed cases", error.what(),
                                       log.kept(), log.findings().size(), tally.failed));
  }
  PrintReport(result, log, console);
  if (result.interrupted) {
    fmt::print(console.out, "{}\n", InterruptedText(CasesOf(result), KnownCases(campaign)));
  }
  PrintTally(tally, console);
  return tally.Exit();
}

}  // namespace assay
