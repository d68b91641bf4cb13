// The down half of atomic C4: each routed result, unrounded, times its routing weight is added to
// an FP32 accumulator by atomics, in no order; the shared expert keeps its own BF16 rows.
#pragma once

#include "gpu/kernels/blend.h"
#include "gpu/kernels/silu_down.h"

namespace assay {

// For SiluDownRowMajor: where it stores, these arguments accumulate.
template <class Word, bool kChecked>
struct AtomicDownArgs : SiluDownArgs<Word, kChecked> {
  View<const float, kChecked> weights;  // [tokens * top_k]
  View<float, kChecked> accumulator;    // [tokens, hidden]

  constexpr void Store(Context auto& context, int slot, int row, float sum) const {
    if (this->slots.IsShared(slot))
      return SiluDownArgs<Word, kChecked>::Store(context, slot, row, sum);
    const float term = sum * weights.Load(context, slot);
    accumulator.AtomicAdd(context, Index{this->slots.Token(slot)} * this->hidden + row, term);
  }
};

template <bool kChecked>
struct ClearAccumulator {
  static constexpr int kThreads = 128;

  struct Args {
    int tokens, hidden;
    View<float, kChecked> accumulator;  // [tokens, hidden]
  };

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.hidden, kThreads), args.tokens, 1}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int column = block.x * kThreads + context.Thread();
    if (column < args.hidden)
      args.accumulator.Store(context, Index{block.y} * args.hidden + column, 0.0f);
  }
};

// moe_output = accumulator + factor * shared; one BF16 rounding.
template <class Rule, bool kChecked>
struct AtomicBlend {
  static constexpr int kThreads = 128;

  struct Args {
    using Factor = View<float, kChecked>;
    int tokens, hidden;
    bool has_shared, has_gate;
    View<const Bf16, kChecked> input;         // [tokens, hidden]
    View<const Bf16, kChecked> shared_gate;   // [hidden]
    View<const float, kChecked> accumulator;  // [tokens, hidden]
    View<const Bf16, kChecked> shared_down;   // [tokens, hidden]
    View<Bf16, kChecked> output;              // [tokens, hidden]
  };

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.hidden, kThreads), args.tokens, 1}, kThreads, sizeof(float)};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const float factor =
        args.has_shared && args.has_gate ? SharedFactor<Rule>(context, args, block.y) : 1.0f;
    const int column = block.x * kThreads + context.Thread();
    if (column >= args.hidden) return;
    const Index at = Index{block.y} * args.hidden + column;
    float sum = args.accumulator.Load(context, at);
    if (args.has_shared) sum += factor * args.shared_down.Load(context, at).ToFloat();
    args.output.Store(context, at, Rule::Round(sum));
  }
};

}  // namespace assay
