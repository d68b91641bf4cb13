// One run of the gate: what its stages share and leave behind.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "ci/commands.h"
#include "ci/findings_log.h"
#include "ci/gate_inputs.h"
#include "ci/gate_policy.h"
#include "ci/junit.h"
#include "ci/progress.h"
#include "ci/summary.h"
#include "fuzz/campaign.h"
#include "reports/record.h"

namespace assay {

class GateRun {
 public:
  // Throws UsageError and EnvironmentError before anything is judged.
  GateRun(const GateOptions& options, Console& console);

  // Runs the stages, lists what an interruption left out, writes the files, returns the exit code.
  ExitCode Run();

 private:
  void RunStages();
  // Runs `work` as a stage: its seconds, its line of the table.
  void Stage(const std::string& name, void (GateRun::*work)(Tally&));
  void Corpus(Tally& tally);
  void Fuzz(Tally& tally);
  void PlantedFaults(Tally& tally);
  void Goldens(Tally& tally);
  void Floors(Tally& tally);
  // Lists the fuzz cases from `number` on as skipped: an interruption left them out.
  void SkipFuzzFrom(std::int64_t number, Tally& tally);
  // Says in all files that something was left out, if it was.
  void NoteInterruption();
  void WriteFiles();
  // For an error that ends the run: what is on disk.
  std::string KeptText() const;

  void Keep(const std::string& suite, const Case& c, const Verdict& verdict);
  void Fail(const std::string& suite, const std::string& name, ExitCode code,
            const std::string& why, Tally& tally);
  void Skip(const std::string& suite, const std::string& name, const std::string& why,
            Tally& tally);
  std::string OutFile(const std::string& name) const { return options_.out + "/" + name; }

  GateOptions options_;
  Console& console_;
  GatePolicy policy_;
  Device device_;
  std::int64_t cases_;
  std::int64_t judged_ = 0, recorded_ = 0, goldens_passed_ = 0;
  std::string run_id_;
  GateInputs inputs_;
  Summary summary_;
  std::vector<JunitCase> junit_;
  FindingsLog log_;
  RecordWriter records_;
  CampaignResult campaign_;
};

}  // namespace assay
