#include "fuzz/faults/make_runner.h"

namespace assay::faults {

std::unique_ptr<Runner> MakeCudaFaultRunner(std::string_view, PathId) { return nullptr; }
std::unique_ptr<Runner> MakeCudaRouterFaultRunner(std::string_view, PathId) { return nullptr; }

}  // namespace assay::faults
