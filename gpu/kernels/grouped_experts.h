// gate, up, activation and down of rows grouped by expert. A `Product` says how outputs are summed:
// LaneProduct as the per-token kernels do, MmaProduct (grouped_gemm.h) on tensor cores.
#pragma once

#include "gpu/kernels/dot.h"
#include "gpu/kernels/expert_groups.h"
#include "gpu/kernels/gate_up.h"

namespace assay {

constexpr float ToFloat(float value) { return value; }
constexpr float ToFloat(Bf16 value) { return value.ToFloat(); }

// The slots of block row y.
struct GroupRange {
  int begin, end;
};
template <bool kChecked>
constexpr GroupRange RangeOfGroup(Context auto& context, const ExpertGroups<kChecked>& groups) {
  const int group = context.Block().y;
  return {static_cast<int>(groups.begins.Load(context, group)),
          static_cast<int>(groups.begins.Load(context, group + 1))};
}

// Each output in the order of the per-token kernels with the same kStep: its bits are theirs. Four
// warps a block, two adjacent outputs a warp. Slots go eight at a time: the weights of a warp's
// rows come from memory once and stay in the L1 cache.
template <class Format_, int kStep>
struct LaneProduct {
  using Format = Format_;
  using Act = float;  // what down reads
  static constexpr int kThreads = 128, kRowsPerWarp = 2, kSlots = 8;
  static constexpr int kRowsPerBlock = kThreads / kWarpSize * kRowsPerWarp;

  // `value(slot, column)` is an activation, `store(slot, row, sum)` takes the result.
  template <bool kChecked, class Matrix, class Value, class Store>
  static constexpr void Run(Context auto& context, const ExpertGroups<kChecked>& groups,
                            const Matrix& matrix, int rows, int columns, const Value& value,
                            const Store& store) {
    const GroupRange range = RangeOfGroup(context, groups);
    const int first =
        context.Block().x * kRowsPerBlock + context.Thread() / kWarpSize * kRowsPerWarp;
    for (int from = range.begin; from < range.end; from += kSlots) {
      const int count = Least(kSlots, range.end - from);
      int slots[kSlots] = {};
      for (int i = 0; i < count; ++i)
        slots[i] = static_cast<int>(groups.order.Load(context, from + i));
      for (int row = first; row < first + kRowsPerWarp && row < rows; ++row) {
        float sums[kSlots] = {};
        ForLaneWeights<Format, kStep>(context, matrix, columns, row, [&](int column, float weight) {
          for (int i = 0; i < kSlots; ++i)
            if (i < count) sums[i] = fmaf(ToFloat(value(slots[i], column)), weight, sums[i]);
        });
        for (int i = 0; i < count; ++i) {
          const float sum = context.WarpSum(sums[i]);
          if (context.Thread() % kWarpSize == 0) store(slots[i], row, sum);
        }
      }
    }
  }
};

// The matrix that the block's group reads.
template <class Word, bool kChecked>
constexpr WeightMatrix<Word, kChecked> MatrixOfGroup(Context auto& context, const SlotGrid& slots,
                                                     int groups_in_all,
                                                     const ExpertGroups<kChecked>& groups,
                                                     const ExpertTables<Word, kChecked>& tables) {
  const int group = context.Block().y;
  if (slots.has_shared && group == groups_in_all - 1) return tables.shared;
  const std::uint32_t expert = groups.experts_of.Load(context, group);
  if (expert == kNoExpert) return WeightMatrix<Word, kChecked>::Absent();
  return tables.routed.Load(context, static_cast<Index>(expert));
}

template <class Product, bool kChecked>
struct GroupedGateUp {
  static constexpr int kThreads = Product::kThreads;
  using Word = typename Product::Format::RowMajorWord;

  struct Args {
    GateUpArgs<Word, kChecked> of;
    int groups_in_all;
    ExpertGroups<kChecked> groups;
  };

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.of.inter, Product::kRowsPerBlock), args.groups_in_all, 2}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const int projection = context.Block().z;
    const auto& of = args.of;
    const auto matrix =
        MatrixOfGroup(context, of.slots, args.groups_in_all, args.groups, of.tables[projection]);
    const auto input = [&](int slot, int column) { return of.LoadInput(context, slot, column); };
    const auto store = [&](int slot, int row, float sum) {
      of.Store(context, projection, slot, row, sum);
    };
    Product::Run(context, args.groups, matrix, of.inter, of.hidden, input, store);
  }
};

// silu(gate) * up in FP32, as the fused kernels keep it in shared memory.
template <bool kChecked>
struct GroupedAct {
  static constexpr int kThreads = 128;

  struct Args {
    SlotGrid slots;
    int inter;
    View<const Bf16, kChecked> routed_gate, routed_up;  // [tokens * top_k, inter]
    View<const Bf16, kChecked> shared_gate, shared_up;  // [tokens, inter]
    View<float, kChecked> act;                          // [slots, inter]
  };

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.inter, kThreads), args.slots.Count(), 1}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int i = block.x * kThreads + context.Thread();
    if (i >= args.inter) return;
    const bool is_shared = args.slots.IsShared(block.y);
    const Index row = is_shared ? block.y - args.slots.Routed() : block.y;
    const auto& gate = is_shared ? args.shared_gate : args.routed_gate;
    const auto& up = is_shared ? args.shared_up : args.routed_up;
    const float silu = Silu(gate.Load(context, row * args.inter + i).ToFloat());
    args.act.Store(context, Index{block.y} * args.inter + i,
                   silu * up.Load(context, row * args.inter + i).ToFloat());
  }
};

template <class Product, bool kChecked>
struct GroupedDown {
  static constexpr int kThreads = Product::kThreads;
  using Word = typename Product::Format::RowMajorWord;

  struct Args {
    SlotGrid slots;
    int hidden, inter, groups_in_all;
    ExpertGroups<kChecked> groups;
    View<const typename Product::Act, kChecked> act;  // [slots, inter]
    ExpertTables<Word, kChecked> table;               // down: [hidden, inter]
    View<Bf16, kChecked> routed_down;                 // [tokens * top_k, hidden]
    View<Bf16, kChecked> shared_down;                 // [tokens, hidden]
  };

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.hidden, Product::kRowsPerBlock), args.groups_in_all, 1}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const auto matrix =
        MatrixOfGroup(context, args.slots, args.groups_in_all, args.groups, args.table);
    const auto act = [&](int slot, int column) {
      return args.act.Load(context, Index{slot} * args.inter + column);
    };
    const auto store = [&](int slot, int row, float sum) {
      const bool is_shared = args.slots.IsShared(slot);
      const Index first = is_shared ? slot - args.slots.Routed() : slot;
      const auto& target = is_shared ? args.shared_down : args.routed_down;
      target.Store(context, first * args.hidden + row, Bf16::Round(sum));
    };
    Product::Run(context, args.groups, matrix, args.hidden, args.inter, act, store);
  }
};

}  // namespace assay
