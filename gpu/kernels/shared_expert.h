// The stand-alone pass of a BF16 shared expert: gate and up (gate_up.h), silu_mul, down. Its
// activation is rounded to BF16, by another formula than the fused kernels'.
#pragma once

#include "gpu/kernels/dot.h"

namespace assay {

// (g * (1 / (1 + exp(-g)))) * u, rounded to BF16.
template <bool kChecked>
struct SiluMul {
  static constexpr int kThreads = 128;

  struct Args {
    Index count;
    View<const Bf16, kChecked> gate, up;  // [count]
    View<Bf16, kChecked> act;             // [count]
  };

  static LaunchShape Shape(const Args& args) {
    return {{static_cast<int>((args.count + kThreads - 1) / kThreads), 1, 1}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index i = Index{context.Block().x} * kThreads + context.Thread();
    if (i >= args.count) return;
    const float gate = args.gate.Load(context, i).ToFloat();
    const float silu = gate * Sigmoid(gate);
    args.act.Store(context, i, Bf16::Round(silu * args.up.Load(context, i).ToFloat()));
  }
};

// down of a BF16 activation, one token a block row; four warps a block, two adjacent outputs a
// warp.
template <class Format, int kStep, bool kChecked>
struct SharedDown {
  static constexpr int kThreads = 128, kRowsPerWarp = 2;
  static constexpr int kRowsPerBlock = kThreads / kWarpSize * kRowsPerWarp;
  using Word = typename Format::RowMajorWord;

  struct Args {
    int tokens, hidden, inter;
    View<const Bf16, kChecked> act;     // [tokens, inter]
    WeightMatrix<Word, kChecked> down;  // [hidden, inter]
    View<Bf16, kChecked> output;        // [tokens, hidden]
  };

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.hidden, kRowsPerBlock), args.tokens, 1}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int first = block.x * kRowsPerBlock + context.Thread() / kWarpSize * kRowsPerWarp;
    const auto act = [&](int column) {
      return args.act.Load(context, Index{block.y} * args.inter + column).ToFloat();
    };
    for (int row = first; row < first + kRowsPerWarp && row < args.hidden; ++row) {
      const float sum =
          context.WarpSum(LaneDotRowMajor<Format, kStep>(context, args.down, args.inter, row, act));
      if (context.Thread() % kWarpSize == 0)
        args.output.Store(context, Index{block.y} * args.hidden + row, Bf16::Round(sum));
    }
  }
};

}  // namespace assay
