#include "reference/expert_parallel.h"

#include <cmath>
#include <numeric>
#include <string>

#include "reference/accumulation.h"
#include "reference/bf16.h"
#include "reference/error.h"
#include "reference/random.h"

namespace assay {
namespace {

constexpr double kUnitBf16 = 0x1p-8;
// Half a step of BF16's subnormals.
constexpr double kTinyBf16 = 0x1p-134;

}  // namespace

ExpertMap ExpertMap::Even(int experts, int ranks) {
  std::vector<int> rank_of;
  for (int rank = 0; rank < ranks; ++rank)
    rank_of.insert(rank_of.end(), experts / ranks + (rank < experts % ranks ? 1 : 0), rank);
  return {std::move(rank_of), ranks};
}

ExpertMap::ExpertMap(std::vector<int> rank_of, int ranks)
    : rank_of_(std::move(rank_of)), ranks_(ranks) {
  for (std::size_t e = 0; e < rank_of_.size(); ++e)
    if (rank_of_[e] < 0 || rank_of_[e] >= ranks)
      throw UsageError("expert " + std::to_string(e) + ": rank " + std::to_string(rank_of_[e]) +
                       " is not one of " + std::to_string(ranks) + " ranks");
}

std::vector<int> ExpertMap::ExpertsOf(int rank) const {
  std::vector<int> experts;
  for (int e = 0; e < static_cast<int>(rank_of_.size()); ++e)
    if (rank_of_[e] == rank) experts.push_back(e);
  return experts;
}

ExpertMap MapOf(const Problem& problem) {
  if (problem.ep_map == EpMap::kEven) return ExpertMap::Even(problem.experts, problem.ep);
  constexpr std::uint64_t kTensor = 0xE9;  // of the counter-based generator; no drawn tensor's
  const RandomStream stream(problem.seed, kTensor);
  std::vector<int> rank_of(problem.experts);
  const auto seats = static_cast<std::uint64_t>(problem.ep) + 1;
  for (int e = 0; e < problem.experts; ++e) {
    const int seat = static_cast<int>(stream.At(e) % seats);
    rank_of[e] = seat == problem.ep ? 0 : seat;
  }
  return {std::move(rank_of), problem.ep};
}

double ExactSum(const RankSums& sums) {
  return std::accumulate(sums.partials.begin(), sums.partials.end(), sums.shared);
}

double ReducedInOrder(const RankSums& sums) {
  double total = 0;
  for (const double partial : sums.partials) total = RoundToBf16(total + RoundToBf16(partial));
  return sums.has_shared ? RoundToBf16(total + sums.shared) : total;
}

// Every one of ranks - 1 additions rounds to BF16 at worst; no partial sum exceeds the sum of
// magnitudes, itself grown by the roundings before.
ReducedInterval AdmissibleSum(std::span<const ReducedInterval> stored) {
  if (stored.size() == 1) return stored[0];
  double low = 0, high = 0, magnitude = 0;
  for (const ReducedInterval& part : stored) {
    low += part.low;
    high += part.high;
    magnitude += std::max(std::fabs(part.low), std::fabs(part.high));
  }
  const double additions = static_cast<double>(stored.size()) - 1;
  const double grown = magnitude * std::pow(1 + kUnitBf16, additions);
  const double loss = additions * (kUnitBf16 * grown + kTinyBf16);
  return {RoundToBf16(low - loss), RoundToBf16(high + loss)};
}

ReducedInterval AdmissibleReduced(const RankSums& sums, std::span<const double> partial_error,
                                  double shared_error) {
  std::vector<ReducedInterval> stored;
  for (std::size_t r = 0; r < sums.partials.size(); ++r)
    stored.push_back({RoundToBf16(sums.partials[r] - partial_error[r]),
                      RoundToBf16(sums.partials[r] + partial_error[r])});
  const auto [low, high] = AdmissibleSum(stored);
  if (!sums.has_shared) return {low, high};
  // The shared term is added in FP32 and the sum stored again.
  const double fp32 =
      2 * kUnitFp32 *
      (std::max(std::fabs(low), std::fabs(high)) + std::fabs(sums.shared) + shared_error);
  return {RoundToBf16(low + sums.shared - shared_error - fp32),
          RoundToBf16(high + sums.shared + shared_error + fp32)};
}

}  // namespace assay
