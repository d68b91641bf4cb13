// All-reduce over GPUs by NCCL, loaded at run time: a build needs its header, a machine without the
// library goes on without it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu/run/communicator.h"

namespace assay {

// nullopt: NCCL can be used. Otherwise one line: why not.
std::optional<std::string> NcclProblem();
// "NCCL 2.27.3"
std::string NcclName();

// Rank `rank` of `ranks`, on this thread's current GPU; no two ranks may share one. `bootstrap`
// carries the group's id and stays in use for Broadcast. Throws EnvironmentError.
std::unique_ptr<Communicator> MakeNcclCommunicator(int rank, int ranks, Communicator& bootstrap);

// One rank's all-reduce on GPU 0 must give back what it was given. nullopt: it does.
std::optional<std::string> NcclLoopbackProblem();

}  // namespace assay
