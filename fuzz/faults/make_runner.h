// Makes the runners of planted faults; null: no such fault, or no CUDA in this build.
#pragma once

#include <memory>
#include <string_view>

#include "gpu/run/runner.h"

namespace assay::faults {

std::unique_ptr<Runner> MakeHostFaultRunner(std::string_view name, PathId path, int threads);
std::unique_ptr<Runner> MakeHostRouterFaultRunner(std::string_view name, PathId path, int threads);
std::unique_ptr<Runner> MakeCudaRouterFaultRunner(std::string_view name, PathId path);
std::unique_ptr<Runner> MakeCudaFaultRunner(std::string_view name, PathId path);

}  // namespace assay::faults
