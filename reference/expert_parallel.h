// Experts spread over ranks, and what the all-reduce of BF16 partial outputs makes of their sum.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/problem.h"

namespace assay {

// Which rank holds each expert.
class ExpertMap {
 public:
  // Consecutive blocks; where the number does not divide, the first ranks hold one more.
  static ExpertMap Even(int experts, int ranks);
  // Any map: `rank_of[e]`. Throws UsageError for a rank outside of [0, ranks).
  ExpertMap(std::vector<int> rank_of, int ranks);

  int Ranks() const { return ranks_; }
  int RankOf(int expert) const { return rank_of_[expert]; }
  std::vector<int> ExpertsOf(int rank) const;

 private:
  std::vector<int> rank_of_;
  int ranks_;
};

// The map that the case draws: even blocks, or (ep_map=uneven) each expert on a drawn rank, rank 0
// twice as likely as another; a rank may hold none.
ExpertMap MapOf(const Problem& problem);

// One element of the output: the routed terms weight * down by rank (exact reals before the
// rank's rounding), the shared term, and how they meet.
struct RankSums {
  std::vector<double> partials;  // [ranks], what each rank's blend sums
  double shared = 0;             // factor * shared, added once, after the all-reduce
  bool has_shared = false;
};

// Real arithmetic.
double ExactSum(const RankSums& sums);
// Rank by rank in order: each partial to BF16, each addition of the all-reduce to BF16, then the
// shared term (where there is one) to BF16 again.
double ReducedInOrder(const RankSums& sums);
struct ReducedInterval {
  double low = 0, high = 0;
};
// What an all-reduce makes of stored BF16 partials, in any order and shape, additions in FP32 or
// BF16.
ReducedInterval AdmissibleSum(std::span<const ReducedInterval> stored);
// Admissible BF16 results for any order and shape of the reduction, additions in FP32 or BF16:
// partials differ from the exact ones by `partial_error[r]` at most before their rounding.
ReducedInterval AdmissibleReduced(const RankSums& sums, std::span<const double> partial_error,
                                  double shared_error);

}  // namespace assay
