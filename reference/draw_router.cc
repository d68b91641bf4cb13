// The router's tensors: weights, biases, the norm before it, the hash table and its token ids.
#include <algorithm>
#include <bit>
#include <optional>

#include "reference/bf16.h"
#include "reference/draw_tensors.h"
#include "reference/quantise.h"

namespace assay {

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

namespace {

// Plain logits lie within about +-4: 12 always wins, -24 always loses.
double SteeringWeight(const Problem& p, int expert, int channel) {
  const RandomStream ranks = StreamOf(p, TensorId::kChannels);
  switch (p.routing) {
    case RoutingDraw::kDisjoint:
      return expert % p.rows == channel ? 3 : 0;
    case RoutingDraw::kOneHot:
      return expert == static_cast<int>(ranks.At(0) % p.experts) ? 12 : 0;
    case RoutingDraw::kLast:
      return expert >= p.experts - p.top_k && expert < p.experts ? 12 : 0;
    case RoutingDraw::kEmpty:
      return expert >= p.top_k && expert % 2 == 1 ? -24 : 0;
    case RoutingDraw::kZipf:
      return -2 * std::bit_width((expert + ranks.At(0)) % p.experts + 1);
    case RoutingDraw::kUniform:
    case RoutingDraw::kIdentical:
    case RoutingDraw::kStray:
      return 0;
  }
  return 0;
}

// Experts that share one row of router weights: some 2 (k + 1) of them, so that the boundary of the
// top k nearly always falls among equals, spread at random over warps and lanes.
int Representative(const Problem& p, int expert) {
  if (!IsTied(p.logits)) return expert;
  const int distinct = std::max(2, p.RouterOutputs() / (2 * (p.top_k + 1)));
  return static_cast<int>(StreamOf(p, TensorId::kTies).At(expert) % distinct);
}

// Deviation 1.5 of the logits: 1.5^2 / (1.33 hidden) = 1.69 / hidden = (Bell * 2.2 / 65536)^2 /
// hidden.
double RouterUnit(const Problem& p) {
  const std::uint64_t root = IntegerSqrt((std::uint64_t{1} << 40) / p.hidden);
  const int widen = p.logits == LogitDraw::kWide ? 3 : p.logits == LogitDraw::kSaturated ? 5 : 0;
  return static_cast<double>(root * 22 / 10) * PowerOfTwo(widen - 36);
}

// The norm's hidden^-0.5 makes the router's input small: its weights make up for it.
double NormGain(const Problem& p) {
  return p.pre_norm ? static_cast<double>(IntegerSqrt(std::uint64_t(p.hidden) << 20)) / 1024 : 1;
}

// One, two or three quarters of the outputs have no finite logit, by one weight of their row.
std::optional<std::uint16_t> NonFiniteWeight(const Problem& p, int expert) {
  if (p.logits != LogitDraw::kNan && p.logits != LogitDraw::kInf) return std::nullopt;
  const RandomStream stream = StreamOf(p, TensorId::kNonFinite);
  const std::uint64_t drawn = stream.At(expert), quarters = 1 + stream.At(~std::uint64_t{0}) % 3;
  if (drawn % 4 >= quarters) return std::nullopt;
  if (p.logits == LogitDraw::kNan) return std::uint16_t{0x7FC0};
  return static_cast<std::uint16_t>(0x7F80 | (drawn >> 8 & 1) << 15);
}

void DrawRouterRow(const Problem& p, int expert, std::uint16_t* row) {
  const RandomStream stream = StreamOf(p, TensorId::kRouterWeight);
  const std::uint64_t first = std::uint64_t(Representative(p, expert)) * p.hidden;
  const double unit = RouterUnit(p) * NormGain(p);
  for (int i = 0; i < p.hidden; ++i) row[i] = DoubleToBf16(stream.Bell(first + i) * unit);
  for (int i = 0; i < SteeringChannels(p); ++i)
    row[i] = DoubleToBf16(SteeringWeight(p, expert, i) * NormGain(p));
  if (p.logits == LogitDraw::kNearTies)
    row[StreamOf(p, TensorId::kTies).At(~std::uint64_t(expert)) % p.hidden] ^= 1;
  if (const auto weight = NonFiniteWeight(p, expert)) row[p.hidden - 1] = *weight;
}

std::vector<std::uint16_t> DrawRouterWeight(const Problem& p) {
  std::vector<std::uint16_t> weight(static_cast<std::size_t>(p.RouterOutputs()) * p.hidden);
  for (int expert = 0; expert < p.RouterOutputs(); ++expert)
    DrawRouterRow(p, expert, weight.data() + static_cast<std::size_t>(expert) * p.hidden);
  return weight;
}

// As an engine quantises a BF16 gate at load; equal rows stay equal.
PackedMatrix PackRouter(const Problem& p, const std::vector<std::uint16_t>& weight) {
  std::vector<float> values;
  for (const std::uint16_t bits : weight) values.push_back(Bf16ToFloat(bits));
  Container packed = Quantise(SchemeNamed("nvfp4"), p.RouterOutputs(), p.hidden, values,
                              QuantiseRule::kProduction);
  return {Format::kNvfp4,
          false,
          p.RouterOutputs(),
          p.hidden,
          std::move(packed.payload),
          std::move(packed.scales),
          packed.global_scale};
}

bool HasCorrectionBias(RouterKind router) {
  return router == RouterKind::kSigmoidBias || router == RouterKind::kSqrtsoftplusBias ||
         router == RouterKind::kSoftmaxBias || router == RouterKind::kGroupedSigmoidBias;
}

// Uniform in +-1/4 with 24 bits; in +-1/outputs or so where the scores are a softmax over all.
std::vector<float> DrawRouterBias(const Problem& p) {
  if (!HasCorrectionBias(p.router)) return {};
  const RandomStream stream = StreamOf(p, TensorId::kRouterBias);
  const int narrow =
      p.router == RouterKind::kSoftmaxBias
          ? std::max(0, static_cast<int>(std::bit_width(unsigned(p.RouterOutputs()))) - 2)
          : 0;
  std::vector<float> bias(p.RouterOutputs());
  for (int expert = 0; expert < p.RouterOutputs(); ++expert) {
    const auto drawn = static_cast<std::int32_t>(stream.At(Representative(p, expert)) >> 40);
    bias[expert] = static_cast<float>((drawn - (1 << 23)) * PowerOfTwo(-25 - narrow));
  }
  return bias;
}

// Deviation 0.58.
std::vector<std::uint16_t> DrawLogitBias(const Problem& p) {
  if (!p.router_bias) return {};
  const RandomStream stream = StreamOf(p, TensorId::kLogitBias);
  std::vector<std::uint16_t> bias(p.RouterOutputs());
  for (int expert = 0; expert < p.RouterOutputs(); ++expert)
    bias[expert] = DoubleToBf16(stream.Bell(Representative(p, expert)) * PowerOfTwo(-16));
  return bias;
}

// Within 1 +- 1/4.
std::vector<std::uint16_t> DrawNormScale(const Problem& p, TensorId tensor) {
  const RandomStream stream = StreamOf(p, tensor);
  std::vector<std::uint16_t> scale(p.hidden);
  for (int i = 0; i < p.hidden; ++i) scale[i] = DoubleToBf16(1 + stream.Bell(i) * PowerOfTwo(-19));
  return scale;
}

// A row of the table for each token of a small vocabulary.
int VocabularyOf(const Problem& p) { return std::max(256, p.rows); }

// Drawn with repetition: real tables may name an expert twice.
std::int64_t HashId(const Problem& p, int token, int slot) {
  const RandomStream stream = StreamOf(p, TensorId::kHashTable);
  const std::uint64_t at = std::uint64_t(token) * p.top_k + slot;
  const auto any = static_cast<std::int64_t>(stream.At(at) % p.experts);
  switch (p.routing) {
    case RoutingDraw::kDisjoint:
      return static_cast<std::int64_t>(at % p.experts);
    case RoutingDraw::kOneHot:
      return slot == 0 ? static_cast<std::int64_t>(stream.At(~std::uint64_t{0}) % p.experts) : any;
    case RoutingDraw::kLast:
      return p.experts - p.top_k + slot;
    case RoutingDraw::kEmpty:
      return any >= p.top_k && any % 2 == 1 ? any - 1 : any;
    case RoutingDraw::kZipf:
      return any >> std::countr_zero(stream.At(~at) | 1u << 20);
    case RoutingDraw::kStray:
      return slot == token % p.top_k ? p.experts + any : any;
    case RoutingDraw::kUniform:
    case RoutingDraw::kIdentical:
      return any;
  }
  return any;
}

void DrawHash(const Problem& p, LayerData& layer) {
  if (p.router != RouterKind::kHash) return;
  for (int token = 0; token < VocabularyOf(p); ++token)
    for (int slot = 0; slot < p.top_k; ++slot) layer.hash_table.push_back(HashId(p, token, slot));
  const RandomStream stream = StreamOf(p, TensorId::kTokenIds);
  for (int row = 0; row < p.rows; ++row) {
    const int drawn_row = p.routing == RoutingDraw::kIdentical ? 0 : row;
    layer.token_ids.push_back(
        p.routing == RoutingDraw::kDisjoint
            ? static_cast<std::uint32_t>(row)
            : static_cast<std::uint32_t>(stream.At(drawn_row) % unsigned(VocabularyOf(p))));
  }
}

}  // namespace

void DrawRouter(const Problem& p, LayerData& layer) {
  layer.router_weight = DrawRouterWeight(p);
  if (p.gate_format != Format::kBf16) {
    layer.packed_router = PackRouter(p, layer.router_weight);
    layer.router_weight.clear();
  }
  layer.router_bias = DrawRouterBias(p);
  layer.logit_bias = DrawLogitBias(p);
  if (p.pre_norm) layer.pre_norm_scale = DrawNormScale(p, TensorId::kPreNorm);
  if (p.pre_expert_norm) layer.pre_expert_scale = DrawNormScale(p, TensorId::kPreExpertNorm);
  DrawHash(p, layer);
}

}  // namespace assay
