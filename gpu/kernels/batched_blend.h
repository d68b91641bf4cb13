// The shared expert added to an output that is stored already: a second BF16 rounding.
#pragma once

#include "gpu/kernels/blend.h"

namespace assay {

template <class Rule, bool kChecked>
struct BatchedBlend {
  static constexpr int kThreads = 128;

  struct Args {
    using Factor = View<float, kChecked>;
    int tokens, hidden;
    bool has_gate;
    View<const Bf16, kChecked> input;        // [tokens, hidden]
    View<const Bf16, kChecked> shared_gate;  // [hidden]
    View<const Bf16, kChecked> shared_down;  // [tokens, hidden]
    View<Bf16, kChecked> output;             // [tokens, hidden], read and written
  };

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.hidden, kThreads), args.tokens, 1}, kThreads, sizeof(float)};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const float factor = args.has_gate ? SharedFactor<Rule>(context, args, block.y) : 1.0f;
    const int column = block.x * kThreads + context.Thread();
    if (column >= args.hidden) return;
    const Index at = Index{block.y} * args.hidden + column;
    const float routed = args.output.Load(context, at).ToFloat();
    const float shared = factor * args.shared_down.Load(context, at).ToFloat();
    args.output.Store(context, at, Rule::Round(routed + shared));
  }
};

}  // namespace assay
