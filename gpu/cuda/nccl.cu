#include <dlfcn.h>
#include <nccl.h>

#include <vector>

#include "gpu/cuda/cuda_memory.h"
#include "gpu/cuda/nccl.h"
#include "gpu/kernels/numeric.h"
#include "reference/error.h"

namespace assay {
namespace {

// The library's functions, or why they are not there.
struct Library {
  decltype(&ncclGetVersion) version = nullptr;
  decltype(&ncclGetUniqueId) unique_id = nullptr;
  decltype(&ncclCommInitRank) init = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclGetErrorString) error_string = nullptr;
  std::string problem;

  Library() {
    void* handle = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      problem = std::string("NCCL: ") + dlerror();
      return;
    }
    Find(handle, "ncclGetVersion", version);
    Find(handle, "ncclGetUniqueId", unique_id);
    Find(handle, "ncclCommInitRank", init);
    Find(handle, "ncclCommDestroy", destroy);
    Find(handle, "ncclAllReduce", all_reduce);
    Find(handle, "ncclGetErrorString", error_string);
  }

 private:
  template <class Function>
  void Find(void* handle, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(handle, name));
    if (function == nullptr) problem = std::string("NCCL: the library has no ") + name;
  }
};

const Library& Nccl() {
  static const Library library;
  return library;
}

void Check(ncclResult_t result, const char* doing) {
  if (result != ncclSuccess)
    throw EnvironmentError(std::string("NCCL: ") + Nccl().error_string(result) + " in " + doing);
}

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(int rank, int ranks, Communicator& bootstrap) : bootstrap_(bootstrap) {
    if (const auto problem = NcclProblem()) throw EnvironmentError(*problem);
    ncclUniqueId id{};
    if (rank == 0) Check(Nccl().unique_id(&id), "making the group's id");
    bootstrap.Broadcast(&id, sizeof(id));
    Check(Nccl().init(&comm_, ranks, id, rank), "joining the group");
  }
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;
  ~NcclCommunicator() override { Nccl().destroy(comm_); }

  // On the stream of the kernels, so that order is the stream's.
  void AllReduce(Bf16* data, std::size_t count) override {
    Check(Nccl().all_reduce(data, data, count, ncclBfloat16, ncclSum, comm_, nullptr),
          "the all-reduce");
  }
  void Broadcast(void* data, std::size_t bytes) override { bootstrap_.Broadcast(data, bytes); }

 private:
  Communicator& bootstrap_;
  ncclComm_t comm_ = nullptr;
};

// The bootstrap of one rank: it has nobody to tell.
class Alone : public Communicator {
 public:
  void AllReduce(Bf16*, std::size_t) override {}
  void Broadcast(void*, std::size_t) override {}
};

}  // namespace

std::optional<std::string> NcclProblem() {
  return Nccl().problem.empty() ? std::nullopt : std::optional(Nccl().problem);
}

std::string NcclName() {
  int version = 0;
  if (NcclProblem() || Nccl().version(&version) != ncclSuccess) return "none";
  return "NCCL " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) +
         "." + std::to_string(version % 100);
}

std::unique_ptr<Communicator> MakeNcclCommunicator(int rank, int ranks, Communicator& bootstrap) {
  return std::make_unique<NcclCommunicator>(rank, ranks, bootstrap);
}

std::optional<std::string> NcclLoopbackProblem() {
  if (const auto problem = NcclProblem()) return problem;
  try {
    constexpr std::size_t kCount = 4096;
    std::vector<Bf16> sent(kCount), got(kCount);
    for (std::size_t i = 0; i < kCount; ++i) sent[i] = Bf16::Round(static_cast<float>(i) - 2048);
    CudaMemory memory(kCount * sizeof(Bf16));
    auto* data = reinterpret_cast<Bf16*>(memory.data());
    WriteCuda(data, sent.data(), kCount * sizeof(Bf16));
    Alone alone;
    MakeNcclCommunicator(0, 1, alone)->AllReduce(data, kCount);
    ReadCuda(got.data(), data, kCount * sizeof(Bf16));
    for (std::size_t i = 0; i < kCount; ++i)
      if (got[i].bits != sent[i].bits)
        return "NCCL: one rank's all-reduce changed element " + std::to_string(i);
  } catch (const EnvironmentError& error) {
    return error.what();
  }
  return std::nullopt;
}

}  // namespace assay
