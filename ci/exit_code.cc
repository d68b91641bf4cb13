#include "ci/exit_code.h"

#include <algorithm>
#include <array>

namespace assay {
namespace {

constexpr std::array kWorstFirst = {
    ExitCode::kHarnessFault, ExitCode::kMemory, ExitCode::kWrongResult,   ExitCode::kPerformance,
    ExitCode::kUsage,        ExitCode::kUnfit,  ExitCode::kNothingJudged, ExitCode::kPass};

auto Rank(ExitCode code) { return std::find(kWorstFirst.begin(), kWorstFirst.end(), code); }

}  // namespace

ExitCode ClassOf(std::string_view check) {
  return check == "memory" ? ExitCode::kMemory : ExitCode::kWrongResult;
}

ExitCode Worse(ExitCode a, ExitCode b) { return Rank(a) <= Rank(b) ? a : b; }

ExitCode WorstOf(const std::vector<Finding>& findings) {
  ExitCode worst = ExitCode::kPass;
  for (const Finding& finding : findings) worst = Worse(worst, ClassOf(finding.check));
  return worst;
}

}  // namespace assay
