// gate and up of every (token, slot): BF16 input times FP4 weight, FP32 sum, BF16 result.
// Grid z: 0 gate, 1 up.
#pragma once

#include "gpu/kernels/dot.h"
#include "gpu/kernels/expert_slots.h"

namespace assay {

template <class Word, bool kChecked>
struct GateUpArgs {
  SlotGrid slots;
  int hidden, inter;
  View<const Bf16, kChecked> routed_input;  // [tokens, hidden]
  View<const Bf16, kChecked> shared_input;  // [tokens, hidden]
  View<const std::uint32_t, kChecked> ids;  // [tokens * top_k]
  ExpertTables<Word, kChecked> tables[2];   // gate, up: [inter, hidden]
  View<Bf16, kChecked> routed[2];           // gate, up: [tokens * top_k, inter]
  View<Bf16, kChecked> shared[2];           // gate, up: [tokens, inter]

  constexpr Bf16 LoadInput(Context auto& context, int slot, int column) const {
    const auto& input = slots.IsShared(slot) ? shared_input : routed_input;
    return input.Load(context, Index{slots.Token(slot)} * hidden + column);
  }
  constexpr auto Input(Context auto& context, int slot) const {
    return
        [this, &context, slot](int column) { return LoadInput(context, slot, column).ToFloat(); };
  }
  constexpr void Store(Context auto& context, int projection, int slot, int row, float sum) const {
    const bool is_shared = slots.IsShared(slot);
    const Index first = is_shared ? slot - slots.Routed() : slot;
    const auto& target = is_shared ? shared[projection] : routed[projection];
    target.Store(context, first * inter + row, Bf16::Round(sum));
  }
};

// One thread an output, blocks of one warp.
template <class Routed, class Shared, bool kChecked>
struct GateUpTransposed {
  static constexpr int kThreads = 32;
  using Args = GateUpArgs<std::uint8_t, kChecked>;

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.inter, kThreads), args.slots.Count(), 2}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int row = block.x * kThreads + context.Thread();
    if (row >= args.inter) return;
    const auto input = args.Input(context, block.y);
    const auto dot = [&](auto format, const auto& matrix) {
      return DotTransposed<decltype(format)>(context, matrix, args.inter, args.hidden, row, input);
    };
    const float sum =
        ForSlot<Routed, Shared>(context, args.slots, block.y, args.ids, args.tables[block.z], dot);
    args.Store(context, block.z, block.y, row, sum);
  }
};

// Four warps a block, two adjacent outputs a warp.
template <class Routed, class Shared, int kStep, bool kChecked>
struct GateUpRowMajor {
  static constexpr int kThreads = 128, kRowsPerWarp = 2;
  static constexpr int kRowsPerBlock = kThreads / kWarpSize * kRowsPerWarp;
  using Args = GateUpArgs<typename Routed::RowMajorWord, kChecked>;

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.inter, kRowsPerBlock), args.slots.Count(), 2}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int first = block.x * kRowsPerBlock + context.Thread() / kWarpSize * kRowsPerWarp;
    const auto input = args.Input(context, block.y);
    const auto outputs = [&](auto format, const auto& matrix) {
      for (int row = first; row < first + kRowsPerWarp && row < args.inter; ++row) {
        const float sum = context.WarpSum(
            LaneDotRowMajor<decltype(format), kStep>(context, matrix, args.hidden, row, input));
        if (context.Thread() % kWarpSize == 0) args.Store(context, block.z, block.y, row, sum);
      }
    };
    ForSlot<Routed, Shared>(context, args.slots, block.y, args.ids, args.tables[block.z], outputs);
  }
};

}  // namespace assay
