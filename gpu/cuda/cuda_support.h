// The CUDA side of runner.h. Without CUDA in the build, cuda_absent.cc answers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu/run/runner.h"

namespace assay {

std::unique_ptr<Runner> MakeCudaRunner(PathId landed, World& world);
std::optional<std::string> CudaProblem();
std::string CudaName();

}  // namespace assay
