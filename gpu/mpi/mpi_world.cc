#include "gpu/mpi/mpi_world.h"

#include <mpi.h>

#include <climits>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <string>

#include "gpu/kernels/numeric.h"
#include "gpu/run/record_bytes.h"
#include "reference/error.h"

namespace assay {
namespace {

// MPI_User_function: adds BF16 values, one rounding each.
void AddBf16(void* in, void* in_out, int* count, MPI_Datatype*) {
  const auto* from = static_cast<const Bf16*>(in);
  auto* to = static_cast<Bf16*>(in_out);
  for (int i = 0; i < *count; ++i) to[i] = Bf16::Round(from[i].ToFloat() + to[i].ToFloat());
}

int CheckedCount(std::size_t count) {
  if (count > INT_MAX)
    throw EnvironmentError("MPI: " + std::to_string(count) +
                           " elements in one message; at most 2^31 - 1, lower rows or hidden");
  return static_cast<int>(count);
}

class MpiCommunicator : public Communicator {
 public:
  MpiCommunicator(const StagedMemory& memory, MPI_Op add) : memory_(memory), add_(add) {}

  void AllReduce(Bf16* data, std::size_t count) override {
    std::vector<Bf16> mine(count);
    memory_.read(mine.data(), data, count * sizeof(Bf16));
    MPI_Allreduce(MPI_IN_PLACE, mine.data(), CheckedCount(count), MPI_UINT16_T, add_,
                  MPI_COMM_WORLD);
    memory_.write(data, mine.data(), count * sizeof(Bf16));
  }
  void Broadcast(void* data, std::size_t bytes) override {
    MPI_Bcast(data, CheckedCount(bytes), MPI_BYTE, 0, MPI_COMM_WORLD);
  }

 private:
  StagedMemory memory_;
  MPI_Op add_;
};

// Everybody's record, by rank.
std::vector<RunRecord> GatherRecords(const RunRecord& mine, int ranks) {
  const std::vector<std::byte> bytes = ToBytes(mine);
  const int size = CheckedCount(bytes.size());
  std::vector<int> sizes(ranks), starts(ranks);
  MPI_Allgather(&size, 1, MPI_INT, sizes.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::exclusive_scan(sizes.begin(), sizes.end(), starts.begin(), 0);
  std::vector<std::byte> all(
      CheckedCount(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0})));
  MPI_Allgatherv(bytes.data(), size, MPI_BYTE, all.data(), sizes.data(), starts.data(), MPI_BYTE,
                 MPI_COMM_WORLD);
  std::vector<RunRecord> records;
  for (int rank = 0; rank < ranks; ++rank)
    records.push_back(RunRecordFromBytes(std::span(all).subspan(starts[rank], sizes[rank])));
  return records;
}

int WorldValue(int (*ask)(MPI_Comm, int*)) {
  int value = 0;
  ask(MPI_COMM_WORLD, &value);
  return value;
}

// The other processes wait in the all-reduce: a rank that fails must take them along.
RunRecord StepOrAbort(const RankStep& step, const Seat& seat) {
  try {
    return step(seat);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay: rank %d: %s\n", seat.rank, error.what());
    constexpr int kEnvironmentUnfit = 5;
    MPI_Abort(MPI_COMM_WORLD, kEnvironmentUnfit);
    throw;
  }
}

class Processes : public World {
 public:
  RunRecord Run(const Problem& problem, const StagedMemory& memory, const RankStep& step) override {
    const int ranks = WorldValue(MPI_Comm_size);
    if (problem.ep != ranks)
      throw UsageError("ep=" + std::to_string(problem.ep) + ": mpirun started " +
                       std::to_string(ranks) + " processes; start as many as the case has ranks");
    const ExpertMap map = MapOf(problem);
    MPI_Op add;
    MPI_Op_create(AddBf16, 1, &add);
    MpiCommunicator communicator(memory, add);
    const RunRecord mine = StepOrAbort(step, {WorldValue(MPI_Comm_rank), &map, &communicator});
    MPI_Op_free(&add);
    return MergeRanks(GatherRecords(mine, ranks), problem, map);
  }
};

}  // namespace

MpiSession::MpiSession() {
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
    throw EnvironmentError("--mpi: MPI_Init_thread failed; start the command with mpirun");
}
MpiSession::~MpiSession() { MPI_Finalize(); }
int MpiSession::Rank() const { return WorldValue(MPI_Comm_rank); }
int MpiSession::Ranks() const { return WorldValue(MPI_Comm_size); }
World& MpiSession::TheWorld() {
  static Processes world;
  return world;
}

}  // namespace assay
