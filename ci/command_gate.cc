#include "ci/commands.h"
#include "ci/gate_run.h"

namespace assay {

ExitCode RunGate(const GateOptions& options, Console& console) {
  return GateRun(options, console).Run();
}

}  // namespace assay
