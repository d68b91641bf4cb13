#include "fuzz/faults/make_runner.h"
#include "fuzz/faults/programs.h"
#include "gpu/host/host_runner.h"

namespace assay::faults {

std::unique_ptr<Runner> MakeHostFaultRunner(std::string_view name, PathId path, int threads) {
  std::unique_ptr<Runner> runner;
  VisitProgram(name, path, [&]<class Program>(const Program& program) {
    runner = std::make_unique<HostRunner<Program>>(program, threads, ThreadWorld());
  });
  return runner;
}

}  // namespace assay::faults
