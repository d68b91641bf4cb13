#include "fuzz/faults/make_runner.h"
#include "fuzz/faults/programs.h"
#include "gpu/cuda/cuda_runner.cuh"

namespace assay::faults {

std::unique_ptr<Runner> MakeCudaFaultRunner(std::string_view name, PathId path) {
  std::unique_ptr<Runner> runner;
  VisitProgram(name, path, [&]<class Program>(const Program& program) {
    runner = std::make_unique<CudaRunner<Program>>(program, ThreadWorld());
  });
  return runner;
}

}  // namespace assay::faults
