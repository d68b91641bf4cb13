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
#include "reports/environment.h"
#include "reports/finding_text.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const std::string kInterrupted = "interrupted";  // the reason that JudgeMany gives, too

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

// The path without the file of an earlier run; one that stays is named when it is opened.
std::string Fresh(const std::string& path) {
  std::error_code ignored;
  fs::remove(path, ignored);
  return path;
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
      inputs_(ReadGateInputs(policy_)),
      log_((MakeFolder(options.out), OutFile("findings.jsonl"))),
      records_(Fresh(OutFile("records.jsonl"))) {
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
  ++recorded_;
  judged_ += verdict.reason != kInterrupted;
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

void GateRun::Skip(const std::string& suite, const std::string& name, const std::string& why,
                   Tally& tally) {
  tally.Skip(why);
  junit_.push_back({suite, name, Outcome::kSkipped, 0, "", why, ""});
}

void GateRun::Corpus(Tally& tally) {
  std::vector<Case> cases = inputs_.corpus;
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
  SkipFuzzFrom(CasesOf(campaign_), tally);
  summary_.cells = CellTable(campaign_);
  ShrinkFindings(
      log_, campaign_, [](const Case& c) { return RunCase(c); }, Interrupted);
  fmt::print(console_.out, "{}\n", CampaignLine(campaign_));
}

void GateRun::SkipFuzzFrom(std::int64_t number, Tally& tally) {
  Verdict left_out;
  left_out.outcome = Outcome::kSkipped;
  left_out.reason = kInterrupted;
  for (; number < cases_; ++number) {
    Case c = GenerateCase(policy_.distribution, policy_.seed, static_cast<std::uint64_t>(number));
    c.checks = policy_.checks;
    c.device = device_;
    tally.Add(left_out);
    Keep("fuzz", c, left_out);
  }
}

void GateRun::PlantedFaults(Tally& tally) {
  ProofOptions options;
  options.device = device_;
  options.threads = omp_get_max_threads();
  options.shrink = false;  // proved on the smallest case already
  for (const Fault& fault : Faults()) {
    if (Interrupted()) {
      Skip("faults", fault.name, kInterrupted, tally);
      continue;
    }
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
  for (const std::string& folder : inputs_.golden_folders) {
    if (Interrupted()) {
      Skip("goldens", folder, kInterrupted, tally);
      continue;
    }
    for (const GoldenResult& result : EvaluateGoldens(folder)) {
      const std::string text = GoldenText(result);
      if (result.outcome == GoldenResult::kFailed) {
        Fail("goldens", result.name, ExitCode::kWrongResult, text, tally);
        continue;
      }
      Count(result, tally);
      goldens_passed_ += result.outcome == GoldenResult::kPassed;
      junit_.push_back({"goldens", result.name, OutcomeOf(result), 0, "", text, ""});
    }
  }
}

void GateRun::Floors(Tally& tally) {
  if (Interrupted()) return Skip("floors", "floors", kInterrupted, tally);
  for (const Floor& floor : JudgeFloors(policy_, cases_, campaign_, goldens_passed_)) {
    if (floor.outcome == Outcome::kFailed) {
      Fail("floors", floor.name, ExitCode::kWrongResult, floor.text, tally);
    } else if (floor.outcome == Outcome::kSkipped) {
      Skip("floors", floor.name, floor.text, tally);
    } else {
      tally.Pass();
      junit_.push_back({"floors", floor.name, Outcome::kPassed, 0, "", "", ""});
    }
  }
}

void GateRun::Stage(const std::string& name, void (GateRun::*work)(Tally&)) {
  StageResult stage{name, {}, 0};
  fmt::print(console_.out, "== {}\n", name);
  console_.out.flush();
  const Progress clock(console_, name, 0);
  (this->*work)(stage.tally);
  stage.seconds = clock.Elapsed();
  summary_.stages.push_back(std::move(stage));
}

void GateRun::NoteInterruption() {
  if (!TotalOf(summary_.stages).skips.contains(kInterrupted)) return;
  const auto all = static_cast<std::int64_t>(inputs_.corpus.size()) + cases_;
  summary_.interruption = InterruptedText(judged_, all);
  const std::string name = "gate " + summary_.interruption;
  junit_.push_back({"gate", name, Outcome::kFailed, 0, "", name, "", true});
}

void GateRun::WriteFiles() {
  records_.Close();
  log_.Finish();
  WriteWholeFile(OutFile("junit.xml"), JunitXml(junit_));
  WriteWholeFile(OutFile("summary.md"), SummaryMarkdown(summary_, log_));
}

std::string GateRun::KeptText() const {
  return fmt::format("kept in {}: {} case records, {} of {} findings; no summary of this run",
                     options_.out, recorded_, log_.kept(), log_.findings().size());
}

void GateRun::RunStages() {
  try {
    Stage("corpus", &GateRun::Corpus);
    Stage("fuzz", &GateRun::Fuzz);
    Stage("faults", &GateRun::PlantedFaults);
    Stage("goldens", &GateRun::Goldens);
    Stage("floors", &GateRun::Floors);
    NoteInterruption();
    WriteFiles();
  } catch (const RecordError& error) {
    throw EnvironmentError(fmt::format("{}; {}", error.what(), KeptText()));
  } catch (const EnvironmentError& error) {
    throw EnvironmentError(fmt::format("{}; {}", error.what(), KeptText()));
  }
}

ExitCode GateRun::Run() {
  const InterruptScope scope;
  RunStages();
  for (const FoldedFinding& folded : log_.findings()) {
    fmt::print(console_.out, "\n{}", FindingText(folded.finding));
  }
  const Tally total = TotalOf(summary_.stages);
  fmt::print(console_.out, "\n{}\nsummary.md, junit.xml, findings.jsonl, records.jsonl are in {}\n",
             TableOf(summary_.stages).Text(), options_.out);
  if (summary_.interruption.empty()) {
    PrintTally(total, console_);
    return total.Exit();
  }
  fmt::print(console_.out, "{}\n", summary_.interruption);
  PrintTally(total, console_);
  // Half a gate is no gate, whatever the other half said.
  return Worse(total.Exit(), ExitCode::kWrongResult);
}

}  // namespace assay
