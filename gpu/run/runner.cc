#include "gpu/run/runner.h"

#include <omp.h>

#include "gpu/cuda/cuda_support.h"
#include "gpu/dispatch/path_program.h"
#include "gpu/host/host_runner.h"
#include "gpu/run/arithmetic.h"
#include "reference/error.h"

namespace assay {

std::unique_ptr<Runner> MakeRunner(PathId landed, Device device, int threads, World& world) {
  if (device == Device::kCuda) return MakeCudaRunner(landed, world);
  if (const auto problem = ArithmeticProblem()) throw EnvironmentError(*problem);
  return std::make_unique<HostRunner<PathProgram<ProductionPolicy>>>(
      PathProgram<ProductionPolicy>{landed}, threads, world);
}

std::optional<std::string> DeviceProblem(Device device) {
  return device == Device::kCuda ? CudaProblem() : ArithmeticProblem();
}

std::string DeviceName(Device device) {
  if (device == Device::kCuda) return CudaName();
  return "host executor, " + std::to_string(omp_get_max_threads()) + " OpenMP threads, " +
         ProcessorName();
}

}  // namespace assay
