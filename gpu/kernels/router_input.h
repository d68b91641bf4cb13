// What the router and the routed experts read where that is not the layer's input.
#pragma once

#include "gpu/core/view.h"
#include "gpu/kernels/numeric.h"

namespace assay {

inline constexpr float kNormEpsilon = 1e-6f;

// One warp a token: bf16(x / sqrt(mean(x^2) + eps) * (scale * hidden^-0.5)) before a router; before
// experts the scale alone. Squares are summed in lanes, joined by the tree.
template <bool kChecked>
struct RmsNorm {
  static constexpr int kThreads = kWarpSize;

  struct Args {
    int rows, hidden;
    bool by_root;                      // times hidden^-0.5
    View<const Bf16, kChecked> input;  // [rows, hidden]
    View<const Bf16, kChecked> scale;  // [hidden]
    View<Bf16, kChecked> output;       // [rows, hidden]
  };

  static LaunchShape Shape(const Args& args) { return {{args.rows, 1, 1}, kThreads}; }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index first = Index{context.Block().x} * args.hidden;
    const auto input = [&](int k) { return args.input.Load(context, first + k).ToFloat(); };
    const auto hidden = static_cast<float>(args.hidden);
    float squares = 0.0f;
    for (int k = context.Thread(); k < args.hidden; k += kWarpSize)
      squares = fmaf(input(k), input(k), squares);
    const float inverse = 1.0f / Sqrt(context.WarpSum(squares) / hidden + kNormEpsilon);
    const float root = args.by_root ? 1.0f / Sqrt(hidden) : 1.0f;
    for (int k = context.Thread(); k < args.hidden; k += kWarpSize) {
      const float factor = args.scale.Load(context, k).ToFloat() * root;
      args.output.Store(context, first + k, Bf16::Round(input(k) * inverse * factor));
    }
  }
};

// x times the token's one routing weight, where the weight belongs on the input.
template <bool kChecked>
struct WeighInput {
  static constexpr int kThreads = 128;

  struct Args {
    int rows, hidden;
    View<const Bf16, kChecked> input;     // [rows, hidden]
    View<const float, kChecked> weights;  // [rows]: one expert a token
    View<Bf16, kChecked> output;          // [rows, hidden]
  };

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.hidden, kThreads), args.rows, 1}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int column = block.x * kThreads + context.Thread();
    if (column >= args.hidden) return;
    const Index at = Index{block.y} * args.hidden + column;
    const float weighed =
        args.input.Load(context, at).ToFloat() * args.weights.Load(context, block.y);
    args.output.Store(context, at, Bf16::Round(weighed));
  }
};

// The identity experts: output + weight * x, rounded again.
template <bool kChecked>
struct AddIdentity {
  static constexpr int kThreads = 128;

  struct Args {
    int rows, hidden;
    View<const Bf16, kChecked> input;     // [rows, hidden]
    View<const float, kChecked> weights;  // [rows]
    View<Bf16, kChecked> output;          // [rows, hidden], read and written
  };

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.hidden, kThreads), args.rows, 1}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int column = block.x * kThreads + context.Thread();
    if (column >= args.hidden) return;
    const Index at = Index{block.y} * args.hidden + column;
    const float identity =
        args.weights.Load(context, block.y) * args.input.Load(context, at).ToFloat();
    args.output.Store(context, at, Bf16::Round(args.output.Load(context, at).ToFloat() + identity));
  }
};

}  // namespace assay
