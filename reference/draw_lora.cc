// The adapters of a layer and which rows have one.
#include "reference/bf16.h"
#include "reference/draw_tensors.h"

namespace assay {
namespace {

constexpr int kAdapters = 3;
constexpr float kScales[kAdapters] = {0.5f, 2.0f, 0.75f};
constexpr int kRanks[kAdapters] = {kMaxLoraRank, kMaxLoraRank / 2, kMaxLoraRank};

struct SiteShape {
  int inputs, outputs;
};

SiteShape ShapeOf(const Problem& p, LoraSite site) {
  if (site == LoraSite::kRouter) return {p.hidden, p.RouterOutputs()};
  if (site == LoraSite::kDown) return {p.inter, p.hidden};
  return {p.hidden, p.inter};
}

// One adapter without a down pair and one without a router pair: pointers that are null.
bool IsNull(int adapter, LoraSite site) {
  return (adapter == 1 && site == LoraSite::kDown) || (adapter == 2 && site == LoraSite::kRouter);
}

// A row of A gives deviation 1 of the dot product; B deviation 0.4 or so of the delta.
LoraPair DrawPair(const Problem& p, int adapter, LoraSite site, int padded) {
  if (IsNull(adapter, site)) return {};
  const SiteShape shape = ShapeOf(p, site);
  const RandomStream stream(p.seed, static_cast<std::uint64_t>(TensorId::kLora),
                            adapter * kLoraSites + static_cast<int>(site));
  const std::uint64_t root = IntegerSqrt((std::uint64_t{1} << 40) / shape.inputs);
  const double unit = static_cast<double>(root * 15 / 10) * PowerOfTwo(-36);
  const int rank = padded > kMaxLoraRank ? padded : kRanks[adapter];
  LoraPair pair;
  for (int r = 0; r < padded; ++r)
    for (int i = 0; i < shape.inputs; ++i)
      pair.a.push_back(
          r < rank ? DoubleToBf16(stream.Bell(std::uint64_t(r) * shape.inputs + i) * unit) : 0);
  for (int n = 0; n < shape.outputs; ++n)
    for (int r = 0; r < padded; ++r)
      pair.b.push_back(
          r < rank ? DoubleToBf16(stream.Bell(~(std::uint64_t(n) * padded + r)) * PowerOfTwo(-18))
                   : 0);
  return pair;
}

LoraAdapterData DrawAdapter(const Problem& p, int adapter) {
  LoraAdapterData data;
  data.scale = kScales[adapter];
  // What makes an adapter one that is marked Refuse: a rank that the kernels do not take.
  data.rank = p.lora == Lora::kRefuse ? 2 * kMaxLoraRank : kMaxLoraRank;
  for (int site = 0; site < kLoraSites; ++site)
    data.pairs[site] = DrawPair(p, adapter, static_cast<LoraSite>(site), data.rank);
  return data;
}

// A quarter of the rows has no adapter; marked Refuse, all have one.
std::int32_t AdapterOfRow(const Problem& p, int row) {
  const std::uint64_t drawn = StreamOf(p, TensorId::kLoraRows).At(row);
  if (p.lora == Lora::kSkip) return -1;
  if (p.lora == Lora::kRefuse) return static_cast<std::int32_t>(drawn % kAdapters);
  return static_cast<std::int32_t>(drawn % (kAdapters + 1)) - 1;
}

}  // namespace

LoraLayer DrawLora(const Problem& p) {
  LoraLayer lora;
  if (p.lora == Lora::kOff) return lora;
  for (int adapter = 0; adapter < kAdapters; ++adapter)
    lora.adapters.push_back(DrawAdapter(p, adapter));
  for (int row = 0; row < p.rows; ++row) lora.row_adapter.push_back(AdapterOfRow(p, row));
  return lora;
}

}  // namespace assay
