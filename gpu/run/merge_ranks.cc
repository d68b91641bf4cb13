#include <algorithm>
#include <bit>
#include <iterator>

#include "gpu/run/world.h"

namespace assay {
namespace {

template <class T>
void Compare(const std::vector<T>& first, const std::vector<T>& other, int rank, const char* what,
             std::vector<RankDifference>& differences) {
  const auto [a, b] = std::mismatch(first.begin(), first.end(), other.begin(), other.end());
  if (a == first.end() && b == other.end()) return;
  differences.push_back({rank, what, a - first.begin()});
}

std::vector<std::uint32_t> BitsOf(const std::vector<float>& values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<std::uint32_t>(value));
  return bits;
}

std::vector<std::string> KernelsOf(const RunRecord& run) {
  std::vector<std::string> kernels;
  for (const LaunchInfo& launch : run.launches) kernels.push_back(launch.kernel);
  return kernels;
}

void CopyRow(const std::vector<std::uint16_t>& from, std::vector<std::uint16_t>& to,
             std::int64_t row, std::int64_t rows) {
  if (to.empty() || from.size() != to.size()) return;  // not shown
  const std::int64_t width = static_cast<std::int64_t>(to.size()) / rows;
  std::copy_n(from.begin() + row * width, width, to.begin() + row * width);
}

void TakeSlots(const RunRecord& from, int rank, const ExpertMap& map, const Problem& problem,
               RunRecord& to) {
  const std::int64_t slots = problem.Slots();
  for (std::int64_t slot = 0; slot < slots; ++slot) {
    const auto expert = static_cast<std::int64_t>(to.ids[slot]);
    if (expert >= problem.experts || map.RankOf(static_cast<int>(expert)) != rank) continue;
    CopyRow(from.stages.gate, to.stages.gate, slot, slots);
    CopyRow(from.stages.up, to.stages.up, slot, slots);
    CopyRow(from.stages.down, to.stages.down, slot, slots);
  }
}

void AddFaults(RunRecord& from, int rank, RunRecord& to) {
  for (int kind = 0; kind < kAccessKinds; ++kind) {
    KindTotals& theirs = from.faults[kind];
    KindTotals& totals = to.faults[kind];
    theirs.first.rank = rank;
    if (totals.count == 0) {
      totals = theirs;
    } else {
      totals.count += theirs.count;
    }
  }
  to.sync_faults.insert(to.sync_faults.end(), from.sync_faults.begin(), from.sync_faults.end());
  std::move(from.scale_reads.begin(), from.scale_reads.end(), std::back_inserter(to.scale_reads));
}

}  // namespace

RunRecord MergeRanks(std::vector<RunRecord> ranks, const Problem& problem, const ExpertMap& map) {
  RunRecord merged = std::move(ranks.front());
  for (int rank = 1; rank < static_cast<int>(ranks.size()); ++rank) {
    RunRecord& other = ranks[rank];
    auto& differences = merged.rank_differences;
    Compare(KernelsOf(merged), KernelsOf(other), rank, "launches", differences);
    Compare(merged.ids, other.ids, rank, "ids", differences);
    Compare(BitsOf(merged.weights), BitsOf(other.weights), rank, "weights", differences);
    Compare(merged.output, other.output, rank, "output", differences);
    TakeSlots(other, rank, map, problem, merged);
    AddFaults(other, rank, merged);
  }
  return merged;
}

}  // namespace assay
