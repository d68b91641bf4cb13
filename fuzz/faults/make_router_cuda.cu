#include "fuzz/faults/make_runner.h"
#include "fuzz/faults/router_programs.h"
#include "gpu/cuda/cuda_runner.cuh"

namespace assay::faults {

std::unique_ptr<Runner> MakeCudaRouterFaultRunner(std::string_view name, PathId path) {
  std::unique_ptr<Runner> runner;
  VisitRouterProgram(name, path, [&]<class Program>(const Program& program) {
    runner = std::make_unique<CudaRunner<Program>>(program);
  });
  return runner;
}

}  // namespace assay::faults
