// moe_output: FP32 sum over slots, in slot order, of weight * down, plus factor * shared; one BF16
// rounding. factor = sigmoid(dot(input, shared gate)) in FP32 on the raw layer input, 1 without
// gate.
#pragma once

#include "gpu/core/view.h"
#include "gpu/kernels/numeric.h"

namespace assay {

struct BlendRule {
  static constexpr int Slots(int top_k) { return top_k; }
  static constexpr float Factor(float dot) { return Sigmoid(dot); }
  static constexpr Bf16 Round(float value) { return Bf16::Round(value); }
};

// One lane's part of input . shared gate.
constexpr float GateLaneDot(Context auto& context, const auto& args, int token) {
  float sum = 0.0f;
  for (int k = context.Thread(); k < args.hidden; k += kWarpSize)
    sum = fmaf(args.input.Load(context, Index{token} * args.hidden + k).ToFloat(),
               args.shared_gate.Load(context, k).ToFloat(), sum);
  return sum;
}

// Warp 0 computes it for the block, as the router computes a logit. Args: input, shared_gate,
// hidden; one float of shared memory.
template <class Rule, class Args>
constexpr float SharedFactor(Context auto& context, const Args& args, int token) {
  const auto shared = context.template Shared<float>(1);
  Tag tag;
  tag.name = "shared memory: factor";
  tag.extent = static_cast<Index>(shared.size());
  const typename Args::Factor factor(shared.data(), tag);
  if (context.Thread() < kWarpSize) {
    const float sum = context.WarpSum(GateLaneDot(context, args, token));
    if (context.Thread() == 0) factor.Store(context, 0, Rule::Factor(sum));
  }
  context.Barrier();
  return factor.Load(context, 0);
}

template <class Rule, bool kChecked>
struct Blend {
  static constexpr int kThreads = 128;

  struct Args {
    using Factor = View<float, kChecked>;
    int tokens, hidden, top_k;
    bool weights_on_input;  // then every slot counts once here
    bool has_shared, has_gate;
    View<const Bf16, kChecked> input;        // [tokens, hidden]
    View<const Bf16, kChecked> shared_gate;  // [hidden]
    View<const float, kChecked> weights;     // [tokens * top_k]
    View<const Bf16, kChecked> down;         // [tokens * top_k, hidden]
    View<const Bf16, kChecked> shared_down;  // [tokens, hidden]
    View<Bf16, kChecked> output;             // [tokens, hidden]
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
    float sum = 0.0f;
    for (int slot = 0; slot < Rule::Slots(args.top_k); ++slot) {
      const Index at = Index{block.y} * args.top_k + slot;
      const float down = args.down.Load(context, at * args.hidden + column).ToFloat();
      const float weight = args.weights_on_input ? 1.0f : args.weights.Load(context, at);
      sum += weight * down;  // two roundings, by contract
    }
    const Index at = Index{block.y} * args.hidden + column;
    if (args.has_shared) sum += factor * args.shared_down.Load(context, at).ToFloat();
    args.output.Store(context, at, Rule::Round(sum));
  }
};

}  // namespace assay
