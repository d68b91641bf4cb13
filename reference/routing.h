// Routing in double: selection, weights, and which selections are admissible given logit errors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/expected.h"
#include "reference/problem.h"

namespace assay {

// The k largest scores, best first; equal scores: the lower index wins. NaN and -inf are never
// chosen; fewer than k others left: a shorter result.
std::vector<int> TopK(std::span<const double> scores, int k);

// The scores that selection ranks, from logits, by the rule of the problem's router (softmax: the
// logits themselves; sigmoid_bias: sigmoid(logit) + bias; groups that are dropped: -inf).
// Logits that are not finite: -inf.
std::vector<double> SelectionScores(const Problem& problem, std::span<const double> logits,
                                    std::span<const float> bias);

// Whether some logits in [low, high] have `chosen` as their top-k (exact for plain selection).
bool Admissible(std::span<const double> score_low, std::span<const double> score_high,
                std::span<const int> chosen);

// The weights of `chosen`, given the logits that the path itself stored, and a bound on |w - exact|
// for an FP32 evaluation with the stated arithmetic (derivation in routing.cc).
struct WeightsExpected {
  std::vector<double> weights, bound;  // [top_k]
};
WeightsExpected RouteWeights(const Problem& problem, std::span<const double> stored_logits,
                             std::span<const int> chosen);

// What a row's routing follows from. Logits that are not finite are never chosen.
struct RouteInputs {
  std::span<const double> logits = {};          // [outputs], as the path stored them
  std::span<const float> bias = {};             // [outputs], or empty
  std::span<const std::int64_t> hash_ids = {};  // [top_k], the token's row of the table
};
// Row `row` of a layer, but for the logits.
RouteInputs RouteInputsOf(const LayerData& layer, int row);

// What a path wrote for it. With `identity_weight`, slots (expert 0, weight 0) stand for identity
// experts and it is the sum of their weights; else their ids are those from `experts` on.
struct RouteChoice {
  std::span<const std::uint32_t> ids;  // [top_k]
  std::span<const float> weights;      // [top_k]
  std::optional<float> identity_weight = {};
};

// Judges one row of a path's routing from what it wrote. Grouped selection is judged by the exact
// test over all sets of kept groups; the ids of a hash table are compared, duplicates and all.
// A row with too few finite logits, or whose table names an expert that does not exist or has no
// finite logit, must be refused: kNoExpert and weight 0 in every slot.
// nullopt: right. Otherwise what is wrong:
// ids illegal or repeated, not the top-k of its own logits, tie rule broken, weight off.
struct RoutingError {
  std::string error_class;  // illegal_id repeated_id wrong_selection tie_rule wrong_weight order
  std::string summary;      // one line: slot, got, expected, bound
};
std::optional<RoutingError> JudgeRoute(const Problem& problem, const RouteInputs& inputs,
                                       const RouteChoice& choice);
// Whether some logits in `stored` [outputs] give the ids, where the path does not show its own.
bool AdmissibleIds(const Problem& problem, std::span<const Interval> stored,
                   const RouteInputs& inputs, const RouteChoice& choice);
// The same for routers that need no more.
std::optional<RoutingError> JudgeRoute(const Problem& problem,
                                       std::span<const double> stored_logits,  // [outputs]
                                       std::span<const float> bias,            // [outputs] or empty
                                       std::span<const std::uint32_t> ids,     // [top_k]
                                       std::span<const float> weights);        // [top_k]

}  // namespace assay
