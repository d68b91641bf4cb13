// Router logits: one stated arithmetic for every path and every gate format. Lane l of a warp takes
// columns l, l + 32, ... with fmaf in that order; lanes join by the 16, 8, 4, 2, 1 tree; a bias is
// added to the sum; the logit is stored as BF16, or as FP32 where the gate is FP32.
#pragma once

#include "gpu/kernels/router_tensors.h"

namespace assay {

struct GateRule {
  static constexpr int First(int lane, int) { return lane; }
  static constexpr int Step() { return kWarpSize; }
  static constexpr int End(int, int hidden) { return hidden; }
  // What an FP32 gate stores: one NaN, as machines differ in the NaN they make.
  static constexpr float Fp32(float sum) {
    return sum == sum ? sum : std::numeric_limits<float>::quiet_NaN();
  }
};

template <bool kChecked>
struct RouterLogitsArgs {
  int rows, hidden, outputs;
  View<const Bf16, kChecked> input;  // [rows, hidden]
  GateWeights<kChecked> weight;      // [outputs, hidden]
  View<const Bf16, kChecked> bias;   // [outputs], or empty
  bool has_bias;
  View<Bf16, kChecked> logits;  // [rows, outputs], or empty
  View<float, kChecked> logits_fp32;
  bool is_fp32;
};

// Four warps a block, one output a warp, kRows tokens a warp (the weight row is read once for
// them).
template <class Rule, int kRows, bool kChecked>
struct RouterLogits {
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarpSize;
  using Args = RouterLogitsArgs<kChecked>;

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.outputs, kWarps), CeilDiv(args.rows, kRows), 1}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int output = block.x * kWarps + context.Thread() / kWarpSize;
    if (output >= args.outputs) return;  // the whole warp leaves; no block barrier follows
    float sums[kRows] = {};
    Accumulate(context, args, output, block.y * kRows, sums);
    for (int r = 0; r < kRows; ++r) {
      const float sum = context.WarpSum(sums[r]);
      const int row = block.y * kRows + r;
      if (context.Thread() % kWarpSize == 0 && row < args.rows)
        Store(context, args, row, output, sum);
    }
  }

 private:
  static constexpr void Accumulate(Context auto& context, const Args& args, int output,
                                   int first_row, float (&sums)[kRows]) {
    const int lane = context.Thread() % kWarpSize, end = Rule::End(lane, args.hidden);
    for (int k = Rule::First(lane, args.hidden); k < end; k += Rule::Step()) {
      const float weight = args.weight.Load(context, args.hidden, output, k);
      for (int r = 0; r < kRows && first_row + r < args.rows; ++r) {
        const Index at = Index{first_row + r} * args.hidden + k;
        sums[r] = fmaf(args.input.Load(context, at).ToFloat(), weight, sums[r]);
      }
    }
  }

  static constexpr void Store(Context auto& context, const Args& args, int row, int output,
                              float sum) {
    if (args.has_bias) sum += args.bias.Load(context, output).ToFloat();
    const Index at = Index{row} * args.outputs + output;
    if (args.is_fp32)
      args.logits_fp32.Store(context, at, Rule::Fp32(sum));
    else
      args.logits.Store(context, at, Bf16::Round(sum));
  }
};

}  // namespace assay
