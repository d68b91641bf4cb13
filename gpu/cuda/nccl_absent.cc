#include "gpu/cuda/nccl.h"
#include "reference/error.h"

namespace assay {
namespace {

constexpr const char* kAbsent = "NCCL: this build was made without nccl.h";

}  // namespace

std::optional<std::string> NcclProblem() { return kAbsent; }
std::string NcclName() { return "none"; }
std::unique_ptr<Communicator> MakeNcclCommunicator(int, int, Communicator&) {
  throw EnvironmentError(kAbsent);
}
std::optional<std::string> NcclLoopbackProblem() { return kAbsent; }

}  // namespace assay
