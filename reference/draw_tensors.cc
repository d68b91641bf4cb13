#include "reference/draw_tensors.h"

#include "reference/bf16.h"
#include "reference/expert_rule.h"

namespace assay {
namespace {

// Bell has deviation 37837, so Bell / 32768 has mean square 1.33.
double DrawActivation(const Problem& p, const RandomStream& stream, std::uint64_t index,
                      int column) {
  const std::int32_t bell = stream.Bell(index);
  switch (p.data) {
    case DataDraw::kHeavy:
      return static_cast<double>(bell) * stream.Bell(~index) * PowerOfTwo(-30);
    case DataDraw::kOutlier:  // one channel in 32 is 64 times the others
      return bell * PowerOfTwo(StreamOf(p, TensorId::kChannels).At(column) % 32 == 0 ? -12 : -18);
    case DataDraw::kPow2:
      return (bell < 0 ? -1 : 1) * PowerOfTwo((bell & 3) - 2);
    case DataDraw::kInteger:
      return bell / 32768;
    case DataDraw::kHalf:
      return bell / 32768 * 0.5;
    case DataDraw::kDistinct:
      return bell < 0 ? -1 : 1;
    case DataDraw::kZero:
      return 0;
    default:
      return bell * PowerOfTwo(-15);
  }
}

}  // namespace

std::vector<std::uint16_t> DrawInput(const Problem& p) {
  const RandomStream stream = StreamOf(p, TensorId::kInput);
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

// Deviation 1 of the dot product: (Bell * 1.5 / 65536)^2 * 1.33.
std::vector<std::uint16_t> DrawSharedGate(const Problem& p) {
  if (!p.shared || p.shared_gate == SharedGate::kNone) return {};
  const RandomStream stream = StreamOf(p, TensorId::kSharedGate);
  const std::uint64_t root = IntegerSqrt((std::uint64_t{1} << 40) / p.hidden);
  const double unit = static_cast<double>(root * 15 / 10) * PowerOfTwo(-36);
  std::vector<std::uint16_t> gate(p.hidden);
  for (int i = 0; i < p.hidden; ++i) gate[i] = DoubleToBf16(stream.Bell(i) * unit);
  return gate;
}

// Deviation 0.29 beside sums of deviation 1.7; whole numbers for exact draws.
std::vector<std::uint16_t> DrawExpertBias(const Problem& p, Projection projection, int expert) {
  const RandomStream stream(
      p.seed,
      static_cast<std::uint64_t>(TensorId::kExpertBias) + static_cast<std::uint64_t>(projection),
      expert);
  std::vector<std::uint16_t> bias(projection == Projection::kDown ? p.hidden : p.inter);
  for (std::size_t i = 0; i < bias.size(); ++i) {
    const std::int32_t bell = stream.Bell(i);
    bias[i] = DoubleToBf16(IsExactDraw(p.data) ? bell / 65536 : bell * PowerOfTwo(-17));
  }
  return bias;
}

}  // namespace assay
