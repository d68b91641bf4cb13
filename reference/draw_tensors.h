// Draws the tensors of a layer step from the problem's seed. Integers and exact scaling only.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/layer_data.h"

namespace assay {

// Names the tensors of the counter-based generator; the numbers are part of every case's bytes.
enum class TensorId : std::uint64_t {
  kInput = 1,
  kRouterWeight,
  kRouterBias,
  kSharedGate,
  kTies,
  kChannels,
  kPayload = 16,  // + projection
  kScales = 24,   // + projection
  kGlobal = 32,   // + projection
};

std::vector<std::uint16_t> DrawInput(const Problem& problem);         // [rows, hidden]
std::vector<std::uint16_t> DrawRouterWeight(const Problem& problem);  // [experts, hidden]
std::vector<float> DrawRouterBias(const Problem& problem);            // [experts], or empty
std::vector<std::uint16_t> DrawSharedGate(const Problem& problem);    // [hidden], or empty

// Throws UnsupportedProblem, naming the field, if a drawn distribution or a feature that changes
// the result is not built.
void RequireSupported(const Problem& problem);

// Throws UnsupportedProblem if a weight format is not built or cannot carry its inner dimension.
void RequireFormats(const Problem& problem);

}  // namespace assay
