// Draws the tensors of a layer step from the problem's seed. Integers and exact scaling only.
#pragma once

#include <cstdint>
#include <vector>

#include "reference/layer_data.h"
#include "reference/random.h"

namespace assay {

// Names the tensors of the counter-based generator; the numbers are part of every case's bytes.
enum class TensorId : std::uint64_t {
  kInput = 1,
  kRouterWeight,
  kRouterBias,
  kSharedGate,
  kTies,
  kChannels,
  kLogitBias,
  kPreNorm,
  kHashTable,
  kTokenIds,
  kNonFinite,
  kPreExpertNorm,
  kLora,
  kLoraRows,
  kPayload = 16,     // + projection
  kScales = 24,      // + projection
  kGlobal = 32,      // + projection
  kExpertBias = 40,  // + projection
};
inline RandomStream StreamOf(const Problem& problem, TensorId tensor) {
  return {problem.seed, static_cast<std::uint64_t>(tensor)};
}

std::vector<std::uint16_t> DrawInput(const Problem& problem);       // [rows, hidden]
std::vector<std::uint16_t> DrawSharedGate(const Problem& problem);  // [hidden], or empty
// All tensors of the router, and the scale of the norm behind it.
void DrawRouter(const Problem& problem, LayerData& layer);
LoraLayer DrawLora(const Problem& problem);  // empty without adapters
// [outputs of the projection]
std::vector<std::uint16_t> DrawExpertBias(const Problem& problem, Projection projection,
                                          int expert);

// Routings other than uniform and identical steer by a few input channels of known value, to which
// the router's weights add an offset for each expert; by the table where the router is one.
bool IsSteered(RoutingDraw routing);
bool IsTied(LogitDraw logits);
int SteeringChannels(const Problem& problem);
double SteeringInput(const Problem& problem, int row, int channel);

// Draws whose layers are exactly computable: small numbers of few bits.
constexpr bool IsExactDraw(DataDraw data) {
  return data == DataDraw::kPow2 || data == DataDraw::kInteger || data == DataDraw::kHalf;
}

// data=distinct: the exponent of the scale of (row, group), 0..13: neighbouring rows, groups and
// experts never share one, so a scale taken from a neighbour is wrong by a power of two.
constexpr int kDistinctExponents = 14;
constexpr int DistinctExponent(int row, int group, int expert) {
  return (3 * row + 5 * group + 7 * (expert + 1)) % kDistinctExponents;
}

// Throws UnsupportedProblem, naming the field, if a drawn distribution or a feature that changes
// the result is not built.
void RequireSupported(const Problem& problem);

// Throws UnsupportedProblem if a weight format is not built or cannot carry its inner dimension.
void RequireFormats(const Problem& problem);

}  // namespace assay
