#include "reference/draw_tensors.h"

#include <algorithm>
#include <bit>
#include <string>

#include "reference/bf16.h"
#include "reference/error.h"
#include "reference/random.h"
#include "reference/tokens.h"

namespace assay {
namespace {

RandomStream Stream(const Problem& problem, TensorId tensor) {
  return {problem.seed, static_cast<std::uint64_t>(tensor)};
}

// Routings other than uniform and identical steer by a few input channels of known value, to which
// the router's weights add an offset for each expert.
bool IsSteered(RoutingDraw routing) {
  return routing != RoutingDraw::kUniform && routing != RoutingDraw::kIdentical;
}

bool IsTied(LogitDraw logits) {
  return logits == LogitDraw::kTies || logits == LogitDraw::kNearTies;
}

// One channel of value 1, or one channel for each row (disjoint).
int SteeringChannels(const Problem& p) {
  if (!IsSteered(p.routing)) return 0;
  return p.routing == RoutingDraw::kDisjoint ? p.rows : 1;
}

double SteeringInput(const Problem& p, int row, int channel) {
  if (p.routing == RoutingDraw::kDisjoint) return row == channel ? 4 : 0;
  return 1;
}

// Plain logits lie within about +-4: 12 always wins, -24 always loses.
double SteeringWeight(const Problem& p, int expert, int channel) {
  const RandomStream ranks = Stream(p, TensorId::kChannels);
  switch (p.routing) {
    case RoutingDraw::kDisjoint:
      return expert % p.rows == channel ? 3 : 0;
    case RoutingDraw::kOneHot:
      return expert == static_cast<int>(ranks.At(0) % p.experts) ? 12 : 0;
    case RoutingDraw::kLast:
      return expert >= p.experts - p.top_k ? 12 : 0;
    case RoutingDraw::kEmpty:
      return expert >= p.top_k && expert % 2 == 1 ? -24 : 0;
    case RoutingDraw::kZipf:
      return -2 * std::bit_width((expert + ranks.At(0)) % p.experts + 1);
    case RoutingDraw::kUniform:
    case RoutingDraw::kIdentical:
      return 0;
  }
  return 0;
}

// Bell has deviation 37837, so Bell / 32768 has mean square 1.33.
double DrawActivation(const Problem& p, const RandomStream& stream, std::uint64_t index,
                      int column) {
  const std::int32_t bell = stream.Bell(index);
  switch (p.data) {
    case DataDraw::kHeavy:
      return static_cast<double>(bell) * stream.Bell(~index) * PowerOfTwo(-30);
    case DataDraw::kOutlier:  // one channel in 32 is 64 times the others
      return bell * PowerOfTwo(Stream(p, TensorId::kChannels).At(column) % 32 == 0 ? -12 : -18);
    case DataDraw::kPow2:
      return (bell < 0 ? -1 : 1) * PowerOfTwo((bell & 3) - 2);
    case DataDraw::kInteger:
      return bell / 32768;
    case DataDraw::kHalf:
      return bell / 32768 * 0.5;
    case DataDraw::kZero:
      return 0;
    default:
      return bell * PowerOfTwo(-15);
  }
}

// Experts that share one row of router weights: some 2 (k + 1) of them, so that the boundary of the
// top k nearly always falls among equals, spread at random over warps and lanes.
int Representative(const Problem& p, int expert) {
  if (!IsTied(p.logits)) return expert;
  const int distinct = std::max(2, p.experts / (2 * (p.top_k + 1)));
  return static_cast<int>(Stream(p, TensorId::kTies).At(expert) % distinct);
}

// Deviation 1.5 of the logits: 1.5^2 / (1.33 hidden) = 1.69 / hidden = (Bell * 2.2 / 65536)^2 /
// hidden.
double RouterUnit(const Problem& p) {
  const std::uint64_t root = IntegerSqrt((std::uint64_t{1} << 40) / p.hidden);
  const int widen = p.logits == LogitDraw::kWide ? 3 : p.logits == LogitDraw::kSaturated ? 5 : 0;
  return static_cast<double>(root * 22 / 10) * PowerOfTwo(widen - 36);
}

void DrawRouterRow(const Problem& p, int expert, std::uint16_t* row) {
  const RandomStream stream = Stream(p, TensorId::kRouterWeight);
  const std::uint64_t first = std::uint64_t(Representative(p, expert)) * p.hidden;
  const double unit = RouterUnit(p);
  for (int i = 0; i < p.hidden; ++i) row[i] = DoubleToBf16(stream.Bell(first + i) * unit);
  for (int i = 0; i < SteeringChannels(p); ++i) row[i] = DoubleToBf16(SteeringWeight(p, expert, i));
  if (p.logits == LogitDraw::kNearTies)
    row[Stream(p, TensorId::kTies).At(~std::uint64_t(expert)) % p.hidden] ^= 1;
}

[[noreturn]] void Refuse(const std::string& field, std::string_view value, const char* why) {
  throw UnsupportedProblem(field + "=" + std::string(value) + ": " + why);
}

constexpr const char* kNotBuilt = "not built yet";

void RequireDistributions(const Problem& p) {
  if (p.data == DataDraw::kDistinct) Refuse("data", Token(p.data), kNotBuilt);
  if (p.logits == LogitDraw::kNan || p.logits == LogitDraw::kInf)
    Refuse("logits", Token(p.logits), kNotBuilt);
  if (!IsSteered(p.routing)) return;
  if (IsTied(p.logits))
    Refuse("routing", Token(p.routing), "steered experts cannot tie; use uniform");
  if (p.data == DataDraw::kZero)
    Refuse("routing", Token(p.routing), "a zero input cannot be steered; use uniform");
  if (SteeringChannels(p) > p.hidden)
    Refuse("routing", Token(p.routing), "needs one hidden channel for each row");
  if (p.routing == RoutingDraw::kDisjoint && p.experts < p.rows * p.top_k)
    Refuse("routing", "disjoint", "needs rows * top_k experts");
}

void RequireRouter(const Problem& p) {
  if (p.router != RouterKind::kSoftmax && p.router != RouterKind::kSigmoidBias)
    Refuse("router", Token(p.router), kNotBuilt);
  if (p.groups != 1) Refuse("groups", std::to_string(p.groups), kNotBuilt);
  if (p.zero_experts != 0) Refuse("zero_experts", std::to_string(p.zero_experts), kNotBuilt);
  if (p.router_bias) Refuse("router_bias", "on", kNotBuilt);
  if (p.pre_norm) Refuse("pre_norm", "on", kNotBuilt);
  if (p.fp32_gate) Refuse("fp32_gate", "on", kNotBuilt);
  if (p.gate_format != Format::kBf16) Refuse("gate_format", Token(p.gate_format), kNotBuilt);
}

}  // namespace

void RequireSupported(const Problem& p) {
  RequireRouter(p);
  RequireDistributions(p);
  if (p.activation != Activation::kSilu) Refuse("activation", Token(p.activation), kNotBuilt);
  if (p.limit != 0) Refuse("limit", std::to_string(p.limit), kNotBuilt);
  if (p.lora != Lora::kOff) Refuse("lora", Token(p.lora), kNotBuilt);
  if (p.ep != 1) Refuse("ep", std::to_string(p.ep), kNotBuilt);
}

std::vector<std::uint16_t> DrawInput(const Problem& p) {
  const RandomStream stream = Stream(p, TensorId::kInput);
  std::vector<std::uint16_t> input(static_cast<std::size_t>(p.rows) * p.hidden);
  for (int row = 0; row < p.rows; ++row) {
    const std::uint64_t drawn_row = p.routing == RoutingDraw::kIdentical ? 0 : row;
    std::uint16_t* out = input.data() + static_cast<std::size_t>(row) * p.hidden;
    for (int i = 0; i < p.hidden; ++i)
      out[i] = DoubleToBf16(DrawActivation(p, stream, drawn_row * p.hidden + i, i));
    for (int i = 0; i < SteeringChannels(p); ++i) out[i] = DoubleToBf16(SteeringInput(p, row, i));
  }
  return input;
}

std::vector<std::uint16_t> DrawRouterWeight(const Problem& p) {
  std::vector<std::uint16_t> weight(static_cast<std::size_t>(p.experts) * p.hidden);
  for (int expert = 0; expert < p.experts; ++expert)
    DrawRouterRow(p, expert, weight.data() + static_cast<std::size_t>(expert) * p.hidden);
  return weight;
}

// Uniform in +-1/4 with 24 bits.
std::vector<float> DrawRouterBias(const Problem& p) {
  if (p.router != RouterKind::kSigmoidBias) return {};
  const RandomStream stream = Stream(p, TensorId::kRouterBias);
  std::vector<float> bias(p.experts);
  for (int expert = 0; expert < p.experts; ++expert) {
    const auto drawn = static_cast<std::int32_t>(stream.At(Representative(p, expert)) >> 40);
    bias[expert] = static_cast<float>((drawn - (1 << 23)) * PowerOfTwo(-25));
  }
  return bias;
}

// Deviation 1 of the dot product: (Bell * 1.5 / 65536)^2 * 1.33.
std::vector<std::uint16_t> DrawSharedGate(const Problem& p) {
  if (!p.shared || p.shared_gate == SharedGate::kNone) return {};
  const RandomStream stream = Stream(p, TensorId::kSharedGate);
  const std::uint64_t root = IntegerSqrt((std::uint64_t{1} << 40) / p.hidden);
  const double unit = static_cast<double>(root * 15 / 10) * PowerOfTwo(-36);
  std::vector<std::uint16_t> gate(p.hidden);
  for (int i = 0; i < p.hidden; ++i) gate[i] = DoubleToBf16(stream.Bell(i) * unit);
  return gate;
}

}  // namespace assay
