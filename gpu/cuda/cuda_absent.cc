#include "gpu/cuda/cuda_support.h"
#include "reference/error.h"

namespace assay {
namespace {

constexpr const char* kAbsent =
    "device=cuda: this build has no CUDA executor; configure with -DASSAY_CUDA=ON (CUDA Toolkit "
    "12.8 or newer), or use device=host";

}  // namespace

std::unique_ptr<Runner> MakeCudaRunner(PathId, World&) { throw EnvironmentError(kAbsent); }
std::optional<std::string> CudaProblem() { return kAbsent; }
std::string CudaName() { return "none (built without CUDA)"; }

}  // namespace assay
