// down(silu(gate) * up) of every (token, slot). The activation stays FP32, in shared memory.
#pragma once

#include "gpu/kernels/dot.h"
#include "gpu/kernels/expert_slots.h"

namespace assay {

template <class Word, bool kChecked>
struct SiluDownArgs {
  SlotGrid slots;
  int hidden, inter;
  View<const Bf16, kChecked> routed_gate, routed_up;  // [tokens * top_k, inter]
  View<const Bf16, kChecked> shared_gate, shared_up;  // [tokens, inter]
  View<const std::uint32_t, kChecked> ids;            // [tokens * top_k]
  ExpertTables<Word, kChecked> table;                 // down: [hidden, inter]
  View<Bf16, kChecked> routed_down;                   // [tokens * top_k, hidden]
  View<Bf16, kChecked> shared_down;                   // [tokens, hidden]

  constexpr int SharedBytes() const { return inter * static_cast<int>(sizeof(float)); }
  constexpr View<float, kChecked> Activation(Context auto& context) const {
    const auto shared = context.template Shared<float>(inter);
    Tag tag;
    tag.name = "shared memory: activation";
    tag.extent = static_cast<Index>(shared.size());
    return {shared.data(), tag};
  }
  constexpr void Fill(Context auto& context, int slot, int threads,
                      const View<float, kChecked>& activation) const {
    const bool is_shared = slots.IsShared(slot);
    const auto& gate = is_shared ? shared_gate : routed_gate;
    const auto& up = is_shared ? shared_up : routed_up;
    const Index first = Index{is_shared ? slot - slots.Routed() : slot} * inter;
    for (int i = context.Thread(); i < inter; i += threads) {
      const float silu = Silu(gate.Load(context, first + i).ToFloat());
      activation.Store(context, i, silu * up.Load(context, first + i).ToFloat());
    }
  }
  constexpr void Store(Context auto& context, int slot, int row, float sum) const {
    const bool is_shared = slots.IsShared(slot);
    const Index first = is_shared ? slot - slots.Routed() : slot;
    const auto& target = is_shared ? shared_down : routed_down;
    target.Store(context, first * hidden + row, Bf16::Round(sum));
  }
};

// One thread an output, blocks of one warp.
template <class Routed, class Shared, bool kChecked>
struct SiluDownTransposed {
  static constexpr int kThreads = 32;
  using Args = SiluDownArgs<std::uint8_t, kChecked>;

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.hidden, kThreads), args.slots.Count(), 1}, kThreads, args.SharedBytes()};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const auto activation = args.Activation(context);
    args.Fill(context, block.y, kThreads, activation);
    context.Barrier();
    const int row = block.x * kThreads + context.Thread();
    if (row >= args.hidden) return;
    const auto value = [&](int column) { return activation.Load(context, column); };
    const auto dot = [&](auto format, const auto& matrix) {
      return DotTransposed<decltype(format)>(context, matrix, args.hidden, args.inter, row, value);
    };
    args.Store(context, block.y, row,
               ForSlot<Routed, Shared>(context, args.slots, block.y, args.ids, args.table, dot));
  }
};

// Four warps a block, two adjacent outputs a warp. `DownArgs` says where a result goes.
template <class Routed, class Shared, int kStep, bool kChecked,
          template <class, bool> class DownArgs = SiluDownArgs>
struct SiluDownRowMajor {
  static constexpr int kThreads = 128, kRowsPerWarp = 2;
  static constexpr int kRowsPerBlock = kThreads / kWarpSize * kRowsPerWarp;
  using Args = DownArgs<typename Routed::RowMajorWord, kChecked>;

  static LaunchShape Shape(const Args& args) {
    return {
        {CeilDiv(args.hidden, kRowsPerBlock), args.slots.Count(), 1}, kThreads, args.SharedBytes()};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const auto activation = args.Activation(context);
    args.Fill(context, block.y, kThreads, activation);
    context.Barrier();
    const int first = block.x * kRowsPerBlock + context.Thread() / kWarpSize * kRowsPerWarp;
    const auto value = [&](int column) { return activation.Load(context, column); };
    const auto outputs = [&](auto format, const auto& matrix) {
      for (int row = first; row < first + kRowsPerWarp && row < args.hidden; ++row) {
        const float sum = context.WarpSum(
            LaneDotRowMajor<decltype(format), kStep>(context, matrix, args.inter, row, value));
        if (context.Thread() % kWarpSize == 0) args.Store(context, block.y, row, sum);
      }
    };
    ForSlot<Routed, Shared>(context, args.slots, block.y, args.ids, args.table, outputs);
  }
};

}  // namespace assay
