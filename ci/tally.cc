#include "ci/tally.h"

#include <fmt/format.h>

namespace assay {

void Tally::Fail(ExitCode code) {
  ++failed;
  worst = Worse(worst, code == ExitCode::kPass ? ExitCode::kWrongResult : code);
}

void Tally::Skip(const std::string& reason) {
  ++skipped;
  ++skips[reason];
}

void Tally::Add(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::kPassed:
      return Pass();
    case Outcome::kFailed:
      return Fail(WorstOf(verdict.findings));
    case Outcome::kRefused:
      ++passed;
      ++refused;
      ++refusals[verdict.reason];
      return;
    case Outcome::kSkipped:
      return Skip(verdict.reason);
    case Outcome::kVacuous:
      return Skip("vacuous: " + verdict.reason);
  }
}

Tally& Tally::operator+=(const Tally& other) {
  passed += other.passed;
  refused += other.refused;
  failed += other.failed;
  skipped += other.skipped;
  worst = Worse(worst, other.worst);
  for (const auto& [rule, count] : other.refusals) refusals[rule] += count;
  for (const auto& [reason, count] : other.skips) skips[reason] += count;
  return *this;
}

std::vector<std::string> Tally::Lines() const {
  if (passed == 1 && refused == 1 && failed == 0 && skipped == 0) {
    return {"1 passed (1 refused), 0 failed, 0 skipped"};
  }
  return {fmt::format("{} of the passed were refusals", refused),
          fmt::format("{} passed, {} failed, {} skipped", passed, failed, skipped)};
}

ExitCode Tally::Exit() const {
  if (worst != ExitCode::kPass) return worst;
  return passed == refused ? ExitCode::kNothingJudged : ExitCode::kPass;
}

std::string OutcomeText(const Verdict& verdict) {
  switch (verdict.outcome) {
    case Outcome::kPassed:
      return "passed";
    case Outcome::kFailed:
      return fmt::format("failed ({} finding{})", verdict.findings.size(),
                         verdict.findings.size() == 1 ? "" : "s");
    case Outcome::kRefused:
      return "refused: " + verdict.reason;
    case Outcome::kSkipped:
      return "skipped: " + verdict.reason;
    case Outcome::kVacuous:
      return "vacuous: " + verdict.reason;
  }
  return "";
}

}  // namespace assay
