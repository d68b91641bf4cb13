#include "ci/commands.h"
#include "ci/judge_lines.h"

namespace assay {

ExitCode RunCheck(const CheckOptions& options, Console& console) {
  return JudgeLines(options, console, false, RunAlone);
}

}  // namespace assay
