#include "gpu/host/host_executor.h"

#include <omp.h>

#include <stdexcept>
#include <string>
#include <tuple>

namespace assay {
namespace {

Index3 BlockAt(std::int64_t place, const Index3& grid) {
  const std::int64_t layer = static_cast<std::int64_t>(grid.x) * grid.y;
  return {static_cast<int>(place % grid.x), static_cast<int>(place % layer / grid.x),
          static_cast<int>(place / layer)};
}

// Which OpenMP thread ran a block must not show: sums and minima, and sync faults by block.
void Append(LaunchReport& all, const LaunchReport& part) {
  for (int kind = 0; kind < kAccessKinds; ++kind) all.faults[kind].Merge(part.faults[kind]);
  all.sync_faults.insert(all.sync_faults.end(), part.sync_faults.begin(), part.sync_faults.end());
}

void SortByBlock(std::vector<SyncFault>& faults) {
  std::stable_sort(faults.begin(), faults.end(), [](const auto& a, const auto& b) {
    return std::tie(a.block.z, a.block.y, a.block.x) < std::tie(b.block.z, b.block.y, b.block.x);
  });
}

void RequireValid(const LaunchShape& shape) {
  if (shape.threads <= 0 || shape.threads > BlockRunner::kMaxThreads ||
      shape.threads % kWarpSize != 0)
    throw std::invalid_argument("threads per block: a multiple of 32, at most 1024, not " +
                                std::to_string(shape.threads));
}

}  // namespace

HostExecutor::HostExecutor(int threads) {
  for (int i = 0; i < std::max(threads, 1); ++i)
    runners_.push_back(std::make_unique<BlockRunner>());
}

LaunchReport HostExecutor::LaunchBlocks(const LaunchShape& shape, ThreadBody body) {
  RequireValid(shape);
  const std::int64_t blocks = static_cast<std::int64_t>(shape.grid.x) * shape.grid.y * shape.grid.z;
  if (runners_.size() > 1) return RunParallel(shape, body, blocks);
  LaunchReport report;
  for (std::int64_t place = 0; place < blocks; ++place)
    runners_[0]->Run(shape, BlockAt(place, shape.grid), body, report);
  return report;
}

LaunchReport HostExecutor::RunParallel(const LaunchShape& shape, ThreadBody body,
                                       std::int64_t blocks) {
  LaunchReport all;
#pragma omp parallel num_threads(static_cast <int>(runners_.size()))
  {
    LaunchReport mine;
    BlockRunner& runner = *runners_[omp_get_thread_num()];
#pragma omp for schedule(dynamic) nowait
    for (std::int64_t place = 0; place < blocks; ++place)
      runner.Run(shape, BlockAt(place, shape.grid), body, mine);
#pragma omp critical
    Append(all, mine);
  }
  SortByBlock(all.sync_faults);
  return all;
}

}  // namespace assay
