#include "gpu/run/place_layer.h"

#include <algorithm>
#include <array>

#include "gpu/dispatch/atomic_scratch.h"
#include "gpu/dispatch/mixed.h"
#include "gpu/dispatch/router_stages.h"
#include "gpu/kernels/expert_groups.h"
#include "reference/formats.h"

namespace assay {
namespace {

constexpr std::array kProjectionNames = {"gate", "up", "down"};

const PackedMatrix& Pick(const ExpertWeights& weights, Projection projection) {
  switch (projection) {
    case Projection::kGate:
      return weights.gate;
    case Projection::kUp:
      return weights.up;
    default:
      return weights.down;
  }
}

std::string TableName(Projection projection, bool transposed) {
  return std::string(kProjectionNames[static_cast<int>(projection)]) + (transposed ? "_t" : "");
}

template <class T, class Source>
void Copy(std::span<T> to, const Source& from) {
  if (!to.empty()) std::memcpy(to.data(), from.data(), to.size_bytes());
}

// Shape of one projection of one expert.
struct Shape {
  int rows, columns;
  Format format;
  bool transposed;

  Index PayloadBytes() const {
    const Index weights = Index{rows} * columns;
    return format == Format::kBf16 ? weights * 2 : IsFp4(format) ? weights / 2 : weights;
  }
  ScaleGrid Grid() const { return ScaleGridOf(format, rows, columns); }
  Index Scales() const { return Index{Grid().rows} * Grid().columns; }
  Placement PlaceScales() const {
    Placement scales = PlaceUnits(transposed, rows, columns, GroupShift(format));
    if (format == Format::kFp8Block) scales.row_shift = scales.column_shift;
    return scales;
  }
};

// log2 of the columns in one word of a payload.
template <class Word>
constexpr int kWordShift = std::is_same_v<Word, std::uint8_t>    ? 1
                           : std::is_same_v<Word, std::uint32_t> ? 3
                                                                 : 0;

template <bool kChecked>
class Placer {
 public:
  Placer(const PlaceOptions& options, Arena& arena)
      : options_(options), layer_(*options.layer), p_(layer_.problem), arena_(arena) {}

  LayerTensors<kChecked> Place() {
    LayerTensors<kChecked> tensors;
    tensors.problem = &p_;
    PlaceInputs(tensors);
    PlaceWeights(tensors);
    arena_.BeginScratch();
    PlaceWorkspace(tensors.work);
    return tensors;
  }

 private:
  void PlaceWeights(LayerTensors<kChecked>& tensors) {
    if (p_.format == Format::kBf16) {
      PlaceFreedFp8(tensors.fp8);
      return PlaceTables(tensors.bf16, false);
    }
    if (p_.format == Format::kFp8Block) return PlaceTables(tensors.fp8, false);
    if (p_.layout != Layout::kTransposed) PlaceTables(tensors.row_major, false);
    if (p_.layout != Layout::kRowMajor) PlaceTables(tensors.transposed, true);
    PlaceSharedBf16(tensors.bf16);
  }

  template <class T, class Source>
  View<const T, kChecked> Input(const std::string& name, const Source& source,
                                Placement placement = {}) {
    const auto placed = arena_.Place<T>(name, static_cast<Index>(source.size()), placement);
    Copy(placed.values, source);
    return placed.template In<kChecked>();
  }

  void PlaceInputs(LayerTensors<kChecked>& tensors) {
    tensors.input = Input<Bf16>("input", layer_.input);
    PlaceRouter(tensors.router);
    PlaceLora(tensors.lora);
    tensors.shared_gate = Input<Bf16>("shared_gate", layer_.shared_gate);
  }

  void PlaceRouter(RouterTensors<kChecked>& router) {
    router.weight.bf16 = Input<Bf16>("router_weight", layer_.router_weight);
    if (layer_.packed_router) PlacePackedGate(*layer_.packed_router, router.weight);
    router.bias = Input<float>("router_bias", layer_.router_bias);
    router.logit_bias = Input<Bf16>("router_logit_bias", layer_.logit_bias);
    router.pre_norm_scale = Input<Bf16>("router_pre_norm_scale", layer_.pre_norm_scale);
    router.pre_expert_scale = Input<Bf16>("pre_expert_scale", layer_.pre_expert_scale);
    router.hash_table = Input<std::int64_t>("tid2eid", layer_.hash_table);
    router.token_ids = Input<std::uint32_t>("token_ids", layer_.token_ids);
  }

  void PlaceLora(LoraTensors<kChecked>& lora) {
    if (p_.lora == Lora::kOff) return;
    lora.row_adapter = Input<std::int32_t>("lora_row_adapter", layer_.lora.row_adapter);
    lora.router = PlaceAdapters("lora_router", LoraSite::kRouter);
    lora.gate = PlaceAdapters("lora_gate", LoraSite::kGate);
    lora.up = PlaceAdapters("lora_up", LoraSite::kUp);
    lora.down = PlaceAdapters("lora_down", LoraSite::kDown);
  }

  View<const LoraMatrices<kChecked>, kChecked> PlaceAdapters(const std::string& name,
                                                             LoraSite site) {
    const auto& adapters = layer_.lora.adapters;
    const auto table = arena_.Place<LoraMatrices<kChecked>>(name, Index(adapters.size()));
    for (std::size_t i = 0; i < adapters.size(); ++i) {
      const LoraPair& pair = adapters[i].At(site);
      const std::string of = name + "[" + std::to_string(i) + "]";
      LoraMatrices<kChecked> matrices;
      if (!pair.a.empty())
        matrices = {Input<Bf16>(of + ".a", pair.a), Input<Bf16>(of + ".b", pair.b)};
      matrices.scale = adapters[i].scale;
      if (!table.values.empty()) table.values[i] = matrices;
    }
    return table.template In<kChecked>();
  }

  void PlacePackedGate(const PackedMatrix& gate, GateWeights<kChecked>& weight) {
    const Placement pairs = PlaceUnits(false, gate.rows, gate.columns, 1);
    const Placement groups = PlaceUnits(false, gate.rows, gate.columns, GroupShift(gate.format));
    weight.payload = Input<std::uint8_t>("router_weight.payload", gate.payload, pairs);
    weight.scale = Input<std::uint8_t>("router_weight.scale", gate.scales, groups);
    weight.global_scale = gate.global_scale;
    weight.packed = true;
  }

  Shape ShapeOf(Projection projection, Format format, bool transposed) const {
    return ShapeOf(projection, format, transposed, p_.inter);
  }
  Shape ShapeOf(Projection projection, Format format, bool transposed, int inter) const {
    if (projection == Projection::kDown) return {p_.hidden, inter, format, transposed};
    return {inter, p_.hidden, format, transposed};
  }

  // The FP8 originals of BF16 weights, freed when these were dequantised at load: quarantined,
  // tables that still point at poison of which no byte may be read.
  void PlaceFreedFp8(LayerTables<E4m3Code, kChecked>& tables) {
    PlaceFreed(tables.gate, Projection::kGate);
    PlaceFreed(tables.up, Projection::kUp);
    PlaceFreed(tables.down, Projection::kDown);
  }

  void PlaceFreed(ExpertTables<E4m3Code, kChecked>& tables, Projection projection) {
    const std::string name = TableName(projection, false) + "[freed FP8 original]";
    const Shape shape = ShapeOf(projection, Format::kFp8Block, false);
    auto payload = arena_.Place<E4m3Code>(name + ".payload", shape.PayloadBytes());
    auto scale = arena_.Place<float>(name + ".scale", shape.Scales());
    payload.tag.extent = scale.tag.extent = 0;
    const auto table = arena_.Place<WeightMatrix<E4m3Code, kChecked>>(name, p_.experts);
    std::fill(table.values.begin(), table.values.end(),
              WeightMatrix<E4m3Code, kChecked>{payload.template In<kChecked>(),
                                               scale.template In<kChecked>(), 1.0f});
    tables.routed = table.template In<kChecked>();
  }

  // The shared expert of a mixed layer.
  void PlaceSharedBf16(LayerTables<std::uint16_t, kChecked>& tables) {
    if (!IsMixed(p_)) return;
    PlaceShared(tables.gate, Projection::kGate, false);
    PlaceShared(tables.up, Projection::kUp, false);
    PlaceShared(tables.down, Projection::kDown, false);
  }

  template <class Word>
  void PlaceTables(LayerTables<Word, kChecked>& tables, bool transposed) {
    PlaceTable(tables.gate, Projection::kGate, transposed);
    PlaceTable(tables.up, Projection::kUp, transposed);
    PlaceTable(tables.down, Projection::kDown, transposed);
  }

  template <class Word>
  void PlaceTable(ExpertTables<Word, kChecked>& tables, Projection projection, bool transposed) {
    const std::string name = TableName(projection, transposed);
    const Shape shape = ShapeOf(projection, p_.format, transposed);
    const auto table = arena_.Place<WeightMatrix<Word, kChecked>>(name, p_.experts);
    const auto unrouted = PlaceUnrouted<Word>(name, shape);
    for (int e = 0; e < p_.experts; ++e) {
      if (!options_.seat.Holds(e)) {
        if (!table.values.empty()) table.values[e] = {};
        continue;
      }
      const auto built = layer_.experts.find(e);
      const auto matrix = built == layer_.experts.end()
                              ? unrouted
                              : PlaceMatrix<Word>(name + "[" + std::to_string(e) + "]", projection,
                                                  e, shape, Pick(built->second, projection));
      if (!table.values.empty()) table.values[e] = matrix;
    }
    tables.routed = table.template In<kChecked>();
    if (layer_.shared && !IsMixed(p_)) PlaceShared(tables, projection, transposed);
    if (IsMixed(p_)) tables.shared = NullMatrix<Word>();
  }

  // What the fused kernels get for a shared expert that is not theirs.
  template <class Word>
  static WeightMatrix<Word, kChecked> NullMatrix() {
    Tag tag;
    tag.name = "null shared expert";
    WeightMatrix<Word, kChecked> null;
    null.payload = {nullptr, tag};
    null.scale = {nullptr, tag};
    return null;
  }

  template <class Word>
  void PlaceShared(ExpertTables<Word, kChecked>& tables, Projection projection, bool transposed) {
    const Shape shape = ShapeOf(projection, *p_.shared, transposed, p_.SharedInter());
    tables.shared = PlaceMatrix<Word>("shared_" + TableName(projection, transposed), projection, -1,
                                      shape, Pick(*layer_.shared, projection));
  }

  // Poison that stands for every expert that is not built.
  template <class Word>
  WeightMatrix<Word, kChecked> PlaceUnrouted(const std::string& name, const Shape& shape) {
    if (static_cast<int>(layer_.experts.size()) == p_.experts) return {};
    auto payload = arena_.Place<Word>(name + "[unrouted].payload",
                                      shape.PayloadBytes() / static_cast<Index>(sizeof(Word)));
    auto scale = arena_.Place<ScaleUnit<Word>>(name + "[unrouted].scale", shape.Scales());
    payload.tag.unrouted = scale.tag.unrouted = true;
    return {payload.template In<kChecked>(), scale.template In<kChecked>(), 1.0f};
  }

  template <class Word>
  WeightMatrix<Word, kChecked> PlaceMatrix(const std::string& name, Projection projection,
                                           int expert, const Shape& shape,
                                           const PackedMatrix& row_major) {
    const auto payload = arena_.Place<Word>(
        name + ".payload", shape.PayloadBytes() / static_cast<Index>(sizeof(Word)),
        PlaceUnits(shape.transposed, shape.rows, shape.columns, kWordShift<Word>));
    auto scale =
        arena_.Place<ScaleUnit<Word>>(name + ".scale", shape.Scales(), shape.PlaceScales());
    scale.tag.ledger = LedgerOf(name + ".scale", projection, expert, shape.Scales());
    if (!payload.values.empty()) Fill(payload.values, scale.values, shape.transposed, row_major);
    return {payload.template In<kChecked>(), scale.template In<kChecked>(), row_major.global_scale};
  }

  template <class Word>
  static void Fill(std::span<Word> payload, std::span<ScaleUnit<Word>> scale, bool transposed,
                   const PackedMatrix& row_major) {
    if (!transposed) {
      Copy(payload, row_major.payload);
      return Copy(scale, row_major.scales);
    }
    const PackedMatrix other = Transpose(row_major);
    Copy(payload, other.payload);
    Copy(scale, other.scales);
  }

  std::uint8_t* LedgerOf(const std::string& tensor, Projection projection, int expert,
                         Index scales) {
    if (!kChecked || options_.ledger == nullptr || scales == 0) return nullptr;
    options_.ledger->push_back(
        {projection, expert, tensor, std::vector<std::uint8_t>(static_cast<std::size_t>(scales))});
    return options_.ledger->back().read.data();
  }

  template <class T>
  View<T, kChecked> Scratch(const char* name, Index count) {
    return arena_.Place<T>(name, count).template Out<kChecked>();
  }

  void PlaceRouterWorkspace(Workspace<kChecked>& work) {
    const Index rows = p_.rows, logits = rows * p_.RouterOutputs();
    work.router_input = Scratch<Bf16>("router_input", p_.pre_norm ? rows * p_.hidden : 0);
    work.logits = Scratch<Bf16>("router_logits", p_.fp32_gate ? 0 : logits);
    work.logits_fp32 = Scratch<float>("router_logits_fp32", p_.fp32_gate ? logits : 0);
    work.identity_weights = Scratch<float>("identity_weights", p_.zero_experts > 0 ? rows : 0);
    work.routed_input = Scratch<Bf16>("routed_input", HasRoutedInput(p_) ? rows * p_.hidden : 0);
  }

  void PlaceWorkspace(Workspace<kChecked>& work) {
    const Index slots = p_.Slots(), rows = options_.scratch_rows;
    const Index expert_rows = rows * p_.top_k, shared_rows = p_.shared ? rows : 0;
    PlaceRouterWorkspace(work);
    if (options_.accumulates) {
      PlaceAccumulator(work);
    } else {
      work.ids = Scratch<std::uint32_t>("topk_ids", slots);
      work.weights = Scratch<float>("topk_weights", slots);
      work.down = Scratch<Bf16>("down_out", expert_rows * p_.hidden);
    }
    work.gate = Scratch<Bf16>("gate_out", expert_rows * p_.inter);
    work.up = Scratch<Bf16>("up_out", expert_rows * p_.inter);
    const Index shared_size = shared_rows * p_.SharedInter();
    work.shared_gate = Scratch<Bf16>("shared_gate_out", shared_size);
    work.shared_up = Scratch<Bf16>("shared_up_out", shared_size);
    work.shared_act = Scratch<Bf16>("shared_act", IsMixed(p_) ? shared_size : 0);
    work.shared_down = Scratch<Bf16>("shared_down_out", shared_rows * p_.hidden);
    const auto output = arena_.Place<Bf16>("moe_output", Index{p_.rows} * p_.hidden);
    std::fill(output.values.begin(), output.values.end(), Bf16{0xFFFF});
    work.output = output.template Out<kChecked>();
    if (options_.groups_rows) PlaceGroups(work);
  }

  void PlaceAccumulator(Workspace<kChecked>& work) {
    const AtomicScratch at = AtomicScratchOf(p_);
    const auto block = arena_.Place<std::byte>("atomic_scratch", at.bytes);
    const auto part = [&]<class T>(T, const char* name, Index offset, Index count) {
      return arena_.Within<T>(block, offset, name, count).template Out<kChecked>();
    };
    work.atomic_bytes = at.bytes;
    work.ids = part(std::uint32_t{}, "topk_ids", at.ids, p_.Slots());
    work.weights = part(float{}, "topk_weights", at.weights, p_.Slots());
    work.accumulator = part(float{}, "accumulator", at.accumulator, Index{p_.rows} * p_.hidden);
  }

  void PlaceGroups(Workspace<kChecked>& work) {
    const SlotGrid slots{p_.rows, p_.top_k, p_.shared.has_value()};
    const Index groups = GroupCount(slots, p_.experts);
    const Index act = Index{slots.Count()} * p_.inter;
    const bool gemm = p_.rows > kGroupedRows;
    work.act = Scratch<float>("expert_act", gemm ? 0 : act);
    work.gemm_act = Scratch<Bf16>("expert_act_bf16", gemm ? act : 0);
    work.group_begins = Scratch<std::uint32_t>("group_begins", groups + 1);
    work.group_experts = Scratch<std::uint32_t>("group_experts", groups);
    work.group_order = Scratch<std::uint32_t>("group_order", slots.Count());
  }

  const PlaceOptions& options_;
  const LayerData& layer_;
  const Problem& p_;
  Arena& arena_;
};

}  // namespace

void PoisonScratch(std::span<std::byte> scratch, Poison poison, std::span<std::byte> output) {
  FillPoison(scratch, poison);
  FillPoison(output, Poison::kOnes);  // 0xFFFF
}

template <bool kChecked>
LayerTensors<kChecked> PlaceLayer(const PlaceOptions& options, Arena& arena) {
  return Placer<kChecked>(options, arena).Place();
}

template LayerTensors<true> PlaceLayer<true>(const PlaceOptions&, Arena&);
template LayerTensors<false> PlaceLayer<false>(const PlaceOptions&, Arena&);

}  // namespace assay
