#include "ci/golden_tally.h"

#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

struct Group {
  int count = 0;
  double error = 0;
};

// A layer's tensors come twice: as the model's code computed them, with float32 steps inside
// ("io."), and with every step in double ("f64."). Their errors are of two kinds.
Group GroupOf(const GoldenResult& result, const std::string& prefix) {
  Group group;
  for (const auto& [tensor, error] : result.tensors) {
    if (!tensor.starts_with(prefix)) continue;
    ++group.count;
    group.error = std::max(group.error, error);
  }
  return group;
}

}  // namespace

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
  const Group exact = GroupOf(result, "f64."), recorded = GroupOf(result, "io.");
  std::string text =
      exact.count + recorded.count == 0
          ? fmt::format("{} tensors, largest error {:.3g}", result.tensors.size(), result.error)
          : fmt::format("{:.3g} of {} f64 tensors", exact.error, exact.count);
  if (recorded.count > 0) {
    text += fmt::format(", {:.3g} of {} recorded through float32", recorded.error, recorded.count);
  }
  return text;
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
