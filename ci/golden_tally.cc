#include "ci/golden_tally.h"

#include <fmt/format.h>

namespace assay {

Outcome OutcomeOf(const GoldenResult& result) {
  switch (result.outcome) {
    case GoldenResult::kPassed:
      return Outcome::kPassed;
    case GoldenResult::kFailed:
      return Outcome::kFailed;
    case GoldenResult::kSkipped:
      return Outcome::kSkipped;
  }
  return Outcome::kFailed;
}

std::string GoldenText(const GoldenResult& result) {
  if (result.outcome != GoldenResult::kPassed) return result.reason;
  return fmt::format("{} tensor{}, largest error {:.3g}", result.tensors.size(),
                     result.tensors.size() == 1 ? "" : "s", result.error);
}

void Count(const GoldenResult& result, Tally& tally) {
  switch (result.outcome) {
    case GoldenResult::kPassed:
      return tally.Pass();
    case GoldenResult::kFailed:
      return tally.Fail(ExitCode::kWrongResult);
    case GoldenResult::kSkipped:
      return tally.Skip(result.reason);
  }
}

}  // namespace assay
