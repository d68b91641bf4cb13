#include "oracle/power_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "oracle/bf16_value.h"
#include "oracle/numeric_check.h"

namespace assay {
namespace {

double PowerfulShare(const OutputExpected& expected) {
  std::int64_t powerful = 0;
  for (std::size_t i = 0; i < expected.stored.size(); ++i) {
    const double half = HalfWidth(expected.stored[i]);
    // Where only NaN or infinity is admitted there is no bound to stand clear of.
    if (std::isfinite(half) && std::abs(expected.center[i]) > 3 * half) ++powerful;
  }
  return expected.stored.empty() ? 0 : static_cast<double>(powerful) / expected.stored.size();
}

bool Disjoint(const Interval& a, const Interval& b) { return a.high < b.low || b.high < a.low; }

// Whether moving every token's output to the token before it breaks the contract by the reference's
// own account: some element's intervals do not meet.
bool RowsDiffer(const OutputExpected& expected, int rows, int hidden) {
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < hidden; ++column) {
      const std::size_t here = std::size_t(row) * hidden + column;
      const std::size_t next = std::size_t((row + 1) % rows) * hidden + column;
      if (Disjoint(expected.stored[here], expected.stored[next])) return true;
    }
  return false;
}

}  // namespace

PowerResult MeasurePower(const CaseContext& context, const RunRecord& run,
                         const OutputExpected& expected) {
  const Problem& problem = context.layer.problem;
  PowerResult result;
  result.powerful = PowerfulShare(expected);
  if (Admits(std::vector<std::uint16_t>(run.output.size(), 0), expected)) {
    result.vacuous = "the contract admits an output of zeros";
  } else if (Admits(context.layer.input, expected)) {
    result.vacuous = "the contract admits the layer's input as its output";
  } else if (problem.rows > 1 && RowsDiffer(expected, problem.rows, problem.hidden)) {
    std::vector<std::uint16_t> rotated = run.output;
    std::rotate(rotated.begin(), rotated.begin() + problem.hidden, rotated.end());
    if (Admits(rotated, expected)) result.vacuous = "the contract admits the tokens rotated by one";
  }
  if (result.vacuous.empty() && result.powerful < 0.5)
    result.vacuous = fmt::format(
        "only {:.0f} % of the outputs are larger than three times their bound, the floor is 50 %",
        100 * result.powerful);
  return result;
}

}  // namespace assay
