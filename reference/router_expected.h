// The router's logits with their bounds, and the experts that some admissible selection contains.
#pragma once

#include <span>
#include <vector>

#include "reference/expected.h"
#include "reference/group_selection.h"
#include "reference/layer_data.h"

namespace assay {

// Needs the input, the router's weights and its bias of the layer; no experts.
RouterExpected ExpectRouter(const LayerData& layer,
                            Accumulation accumulation = Accumulation::kAnyOrder);

// The selection score of every output when its stored logit lies in `stored`, as the FP32
// evaluation of the contract may give it: softmax the logit itself, sigmoid_bias sigmoid + bias.
// Only NaN: never chosen.
std::vector<Interval> ScoreIntervals(const Problem& problem, std::span<const Interval> stored,
                                     std::span<const float> bias);

// Experts that some scores within the intervals put among the k best (lower index wins ties).
std::vector<int> MayBeChosen(std::span<const Interval> scores, int k);

// The same for groups; a few more where it is not certain which groups are kept.
std::vector<int> MayBeChosenInGroups(const RouterRule& rule, std::span<const Interval> scores,
                                     int k);
// -inf to -inf: never chosen.
ScoreBoxes BoxesOf(std::span<const Interval> scores);

// A BF16 matrix as the packed form that the products take.
PackedMatrix AsMatrix(std::span<const std::uint16_t> bits, int rows, int columns);

}  // namespace assay
