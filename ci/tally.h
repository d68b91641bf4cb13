// Counts of a command that judges, and the lines and the exit code that follow from them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ci/exit_code.h"
#include "oracle/verdict.h"

namespace assay {

struct Tally {
  std::int64_t passed = 0;   // refusals included
  std::int64_t refused = 0;  // declared refusals among the passed
  std::int64_t failed = 0;
  std::int64_t skipped = 0;  // vacuous cases included
  ExitCode worst = ExitCode::kPass;
  std::map<std::string, std::int64_t> refusals;  // rule -> cases
  std::map<std::string, std::int64_t> skips;     // reason -> cases

  void Add(const Verdict& verdict);
  void Pass() { ++passed; }
  void Fail(ExitCode code);
  void Skip(const std::string& reason);
  Tally& operator+=(const Tally& other);

  // The last lines of the command's output: how many of the passed were refusals, then the counts.
  std::vector<std::string> Lines() const;
  // kNothingJudged when all that was asked was refused or skipped.
  ExitCode Exit() const;
};

// "refused" of a refusal, "vacuous: <reason>" ...: how a verdict is named in lists.
std::string OutcomeText(const Verdict& verdict);

}  // namespace assay
