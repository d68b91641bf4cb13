#include "gpu/cuda/cuda_runner.cuh"
#include "gpu/cuda/cuda_support.h"
#include "gpu/dispatch/path_program.h"
#include "reference/error.h"

namespace assay {

std::unique_ptr<Runner> MakeCudaRunner(PathId landed, World& world) {
  if (const auto problem = CudaProblem()) throw EnvironmentError(*problem);
  return std::make_unique<CudaRunner<PathProgram<ProductionPolicy>>>(
      PathProgram<ProductionPolicy>{landed}, world);
}

}  // namespace assay
