// Every router that models use, as data, and the evaluation of one row: logits to experts and
// weights. Sources: the model code named in testdata/goldens/hf/README.md.
//
// Policy for logits that are not finite (NaN, +inf, -inf): such an expert is never chosen and takes
// no part in a softmax or in a group's score. If fewer finite ones are left than are to be chosen,
// or a hash table names one, the row is refused by name.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/problem.h"

namespace assay {

enum class Scoring { kSoftmax, kSigmoid, kSqrtsoftplus };
// Score all experts and rank the scores, or rank the logits and score the chosen only.
enum class ScoreScope { kAllExperts, kSelectedOnly };
enum class SelectionKind { kTopk, kGrouped, kHash, kSparsemixer };
enum class GroupScore { kMax, kSumOfTwoBest };
enum class WeightNorm {
  kNone,
  kSumPlusEps,     // w / (sum + eps)
  kSumAtLeastEps,  // w / max(sum, eps)
  kSumAboveEps,    // w / sum where sum > eps, else w
  kPNorm,          // w / (sum |w|^p)^(1/p)
};
enum class ScaledAt { kNothing, kWeights, kSummedOutput };
enum class LogitStore { kExact, kFp32, kBf16 };

struct RouterRule {
  int experts = 1, zero_experts = 0;  // ids from `experts` on are identity experts
  int top_k = 1;
  std::optional<double> soft_cap;  // tanh(l / c) c
  LogitStore store = LogitStore::kExact;
  Scoring scoring = Scoring::kSoftmax;
  ScoreScope scope = ScoreScope::kAllExperts;
  SelectionKind selection = SelectionKind::kTopk;
  int groups = 1, groups_kept = 1;
  GroupScore group_score = GroupScore::kSumOfTwoBest;
  // What the scores of dropped groups become: -inf, or 0 (then such an expert may still win).
  double dropped_fill = -std::numeric_limits<double>::infinity();
  double jitter = 0.01;  // sparsemixer
  WeightNorm norm = WeightNorm::kNone;
  double eps = 0, p = 1;
  double scale = 1;
  ScaledAt scaled_at = ScaledAt::kNothing;
  bool weights_on_input = false;

  int Outputs() const { return experts + zero_experts; }
};

// The tensors of a router; empty: absent.
struct RouterTensors {
  std::span<const double> router_bias;       // [outputs], added to the logit
  std::span<const double> correction_bias;   // [outputs], added to the score for selection only
  std::span<const double> per_expert_scale;  // [experts], on the final weight
  std::span<const std::int64_t> hash_ids;    // [top_k], the token's row of the hash table
};

struct RoutedRow {
  std::vector<int> ids;         // [top_k], best first (hash: the order of the table)
  std::vector<double> weights;  // exact
  // |FP32 evaluation - exact| given the ids, exponentials and roots within two units in the last
  // place, sums in any order.
  std::vector<double> bounds;
  std::optional<std::string> refusal;  // one line; ids are empty then
};

// A dot product to the logit that the router stores: bias, soft cap, rounding.
double StoredLogit(const RouterRule& rule, double dot, double bias);

// x / sqrt(mean(x^2) + eps) * weight * scale_vector * scale, the last three where given.
struct PreNorm {
  double eps = 0;
  std::span<const double> weight, scale_vector;
  double scale = 1;
};
std::vector<double> Normed(const PreNorm& norm, std::span<const double> x);

// `logits` [outputs] as stored. Ties: the lower index wins.
RoutedRow RouteRow(const RouterRule& rule, const RouterTensors& tensors,
                   std::span<const double> logits);

// Weights and bounds of experts that somebody else chose. All logits of `ids` must be finite.
RoutedRow WeighChosen(const RouterRule& rule, const RouterTensors& tensors,
                      std::span<const double> logits, std::vector<int> ids);

// The values that selection ranks, with the bound of their FP32 evaluation; -inf: never chosen.
// Before grouping.
struct RankedScores {
  std::vector<double> value, error;
};
RankedScores RankScores(const RouterRule& rule, const RouterTensors& tensors,
                        std::span<const double> logits);

// Identity experts: their weights leave the slots (expert 0, weight 0 remain) and are summed; the
// caller adds the sum times the input.
double TakeZeroExperts(const RouterRule& rule, RoutedRow& row);

// The rule of a path's layer.
RouterRule RuleFor(const Problem& problem);

}  // namespace assay
