#include "fuzz/faults/make_runner.h"
#include "fuzz/faults/router_programs.h"
#include "gpu/host/host_runner.h"

namespace assay::faults {

std::unique_ptr<Runner> MakeHostRouterFaultRunner(std::string_view name, PathId path, int threads) {
  std::unique_ptr<Runner> runner;
  VisitRouterProgram(name, path, [&]<class Program>(const Program& program) {
    runner = std::make_unique<HostRunner<Program>>(program, threads);
  });
  return runner;
}

}  // namespace assay::faults
