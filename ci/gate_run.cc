#include "ci/gate_run.h"

#include <fmt/ostream.h>
#include <omp.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "ci/case_record.h"
#include "ci/data_dir.h"
#include "ci/floors.h"
#include "ci/fuzz_report.h"
#include "ci/golden_tally.h"
#include "ci/interrupt.h"
#include "ci/judge_lines.h"
#include "ci/judge_many.h"
#include "ci/output_files.h"
#include "ci/prove_fault.h"
#include "ci/shrink_findings.h"
#include "ci/words.h"
#include "fuzz/corpus.h"
#include "reports/environment.h"
#include "reports/finding_text.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// auto: CUDA if this machine can, else the host executor; which and why is said aloud.
Device ChooseDevice(const std::string& word, Console& console) {
  if (word != "auto") {
    const auto device = FromWord<Device>("--device", word);
    RequireDevice(device);
    return device;
  }
  const auto problem = DeviceProblem(Device::kCuda);
  if (problem) fmt::print(console.out, "no CUDA: {}\n", *problem);
  return problem ? Device::kHost : Device::kCuda;
}

GatePolicy PolicyOf(const GateOptions& options) {
  return ReadGatePolicy(options.policy.empty() ? DataPath("ci/gate.toml") : options.policy);
}

std::string MissedText(const Fault& fault, const FaultProof& proof) {
  std::string others;
  for (const std::string& check : proof.others) others += (others.empty() ? "" : ", ") + check;
  return fmt::format("not found by {} on '{}'{}", fault.check, ToLine(proof.smallest),
                     others.empty() ? "" : "; seen only by " + others);
}

}  // namespace

GateRun::GateRun(const GateOptions& options, Console& console)
    : options_(options),
      console_(console),
      policy_(PolicyOf(options)),
      device_(ChooseDevice(options.device, console)),
      cases_(options.cases >= 0 ? options.cases : policy_.cases),
      log_((MakeFolder(options.out), OutFile("findings.jsonl"))),
      records_((fs::remove(OutFile("records.jsonl")), OutFile("records.jsonl"))) {
  if (const auto problem = ArithmeticProblem()) throw EnvironmentError(*problem);
  const Environment environment = CaptureEnvironment();
  summary_.version = fmt::format("assay {} at {}{}", environment.version, environment.git_sha,
                                 environment.git_dirty ? " with changes" : "");
  summary_.device = DeviceName(device_);
  const nlohmann::json run = RunFields(environment, NowUtc(), "manual");
  run_id_ = run.value("id", "");
  records_.Append(RecordType::kRun, run);
  fmt::print(console_.out, "{}\n{}\n", summary_.version, summary_.device);
}

void GateRun::Keep(const std::string& suite, const Case& c, const Verdict& verdict) {
  junit_.push_back(MakeJunitCase(suite, c, verdict));
  records_.Append(RecordType::kCheckResult, CaseRecord(run_id_, suite, c, verdict));
  if (verdict.outcome != Outcome::kFailed) return;
  log_.Add(c, verdict);
  const std::string what =
      verdict.findings.empty() ? verdict.reason : verdict.findings.front().summary;
  summary_.failures.push_back(fmt::format("{}: `{}`: {}", suite, ToLine(c), OneLine(what)));
}

void GateRun::Fail(const std::string& suite, const std::string& name, ExitCode code,
                   const std::string& why, Tally& tally) {
  tally.Fail(code);
  junit_.push_back({suite, name, Outcome::kFailed, 0, suite, OneLine(why), why});
  summary_.failures.push_back(fmt::format("{}: {}: {}", suite, name, OneLine(why)));
  fmt::print(console_.out, "FAILED {}: {}: {}\n", suite, name, OneLine(why));
}

void GateRun::Corpus(Tally& tally) {
  std::vector<Case> cases;
  for (const std::string& file : policy_.corpus_files) {
    for (const CorpusCase& one : ReadCorpusFile(DataPath(file))) cases.push_back(one.c);
  }
  for (Case& c : cases) c.device = device_;
  Progress progress(console_, "corpus", static_cast<std::int64_t>(cases.size()));
  std::int64_t done = 0, failed = 0;
  const std::vector<Verdict> verdicts = JudgeMany(
      cases, WorkersFromWord(options_.workers),
      [&](const Verdict& verdict) {
        failed += verdict.outcome == Outcome::kFailed;
        progress.At(++done, failed);
      },
      Interrupted);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    tally.Add(verdicts[i]);
    Keep("corpus", cases[i], verdicts[i]);
  }
}

void GateRun::Fuzz(Tally& tally) {
  CampaignOptions campaign;
  campaign.distribution = policy_.distribution;
  campaign.seed = policy_.seed;
  campaign.cases = cases_;
  campaign.workers = WorkersFromWord(options_.workers);
  campaign.checks = policy_.checks;
  campaign.device = device_;
  Progress progress(console_, "fuzz", cases_);
  std::int64_t done = 0;
  const auto each = [&](std::int64_t, const Case& c, const Verdict& verdict) {
    tally.Add(verdict);
    Keep("fuzz", c, verdict);
    progress.At(++done, tally.failed);
  };
  campaign_ = RunCampaign(campaign, each, Interrupted);
  progress.Clear();
  summary_.cells = CellTable(campaign_);
  ShrinkFindings(
      log_, campaign_, [](const Case& c) { return RunCase(c); }, Interrupted);
  fmt::print(console_.out, "{}\n", CampaignLine(campaign_));
}

void GateRun::PlantedFaults(Tally& tally) {
  ProofOptions options;
  options.device = device_;
  options.threads = omp_get_max_threads();
  options.shrink = false;  // proved on the smallest case already
  for (const Fault& fault : Faults()) {
    if (Interrupted()) return tally.Skip("interrupted");
    const FaultProof proof = ProveFault(fault, options);
    if (!proof.found) {
      Fail("faults", fault.name, ExitCode::kWrongResult, MissedText(fault, proof), tally);
      continue;
    }
    tally.Pass();
    junit_.push_back({"faults", fault.name, Outcome::kPassed, proof.seconds, "", "", ""});
  }
}

void GateRun::Goldens(Tally& tally) {
  for (const std::string& folder : policy_.golden_folders) {
    for (const GoldenResult& result : EvaluateGoldens(DataPath(folder))) {
      const std::string text = GoldenText(result);
      if (result.outcome == GoldenResult::kFailed) {
        Fail("goldens", result.name, ExitCode::kWrongResult, text, tally);
        continue;
      }
      Count(result, tally);
      junit_.push_back({"goldens", result.name, OutcomeOf(result), 0, "", text, ""});
    }
  }
}

void GateRun::Floors(Tally& tally) {
  for (const Floor& floor : JudgeFloors(policy_, cases_, campaign_)) {
    if (!floor.held) {
      Fail("floors", floor.name, ExitCode::kWrongResult, floor.text, tally);
      continue;
    }
    tally.Pass();
    junit_.push_back({"floors", floor.name, Outcome::kPassed, 0, "", "", ""});
  }
}

void GateRun::Stage(const std::string& name, void (GateRun::*work)(Tally&)) {
  StageResult stage{name, {}, 0};
  fmt::print(console_.out, "== {}\n", name);
  console_.out.flush();
  const Progress clock(console_, name, 0);
  if (Interrupted()) {
    stage.tally.Skip("interrupted");
    junit_.push_back({name, name, Outcome::kSkipped, 0, "", "interrupted", ""});
  } else {
    (this->*work)(stage.tally);
  }
  stage.seconds = clock.Elapsed();
  summary_.stages.push_back(std::move(stage));
}

void GateRun::WriteFiles() {
  records_.Close();
  log_.Rewrite();
  WriteWholeFile(OutFile("junit.xml"), JunitXml(junit_));
  WriteWholeFile(OutFile("summary.md"), SummaryMarkdown(summary_, log_));
}

ExitCode GateRun::Run() {
  const InterruptScope scope;
  Stage("corpus", &GateRun::Corpus);
  Stage("fuzz", &GateRun::Fuzz);
  Stage("faults", &GateRun::PlantedFaults);
  Stage("goldens", &GateRun::Goldens);
  Stage("floors", &GateRun::Floors);
  WriteFiles();
  for (const FoldedFinding& folded : log_.findings()) {
    fmt::print(console_.out, "\n{}", FindingText(folded.finding));
  }
  const Tally total = TotalOf(summary_.stages);
  fmt::print(console_.out, "\n{}\nsummary.md, junit.xml, findings.jsonl, records.jsonl are in {}\n",
             TableOf(summary_.stages).Text(), options_.out);
  PrintTally(total, console_);
  // Half a gate is no gate, whatever the other half said.
  const bool half = Interrupted() && total.Exit() == ExitCode::kPass;
  return half ? ExitCode::kWrongResult : total.Exit();
}

}  // namespace assay
