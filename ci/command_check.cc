#include <sstream>

#include "ci/commands.h"
#include "ci/judge_lines.h"
#include "gpu/mpi/mpi_world.h"

namespace assay {
namespace {

ExitCode JudgeAlone(const CheckOptions& options, Console& console, World* world) {
  return JudgeLines(options, console, false, [world](const Case& c) { return RunAlone(c, world); });
}

// All processes judge the same record; rank 0 speaks.
ExitCode JudgeTogether(const CheckOptions& options, Console& console) {
  MpiSession session;
  if (session.Rank() == 0) return JudgeAlone(options, console, &session.TheWorld());
  std::ostringstream unheard;
  Console silent{console.in, unheard, console.err, false};
  return JudgeAlone(options, silent, &session.TheWorld());
}

}  // namespace

ExitCode RunCheck(const CheckOptions& options, Console& console) {
  return options.mpi ? JudgeTogether(options, console) : JudgeAlone(options, console, nullptr);
}

}  // namespace assay
