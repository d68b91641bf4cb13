// Router logits: one stated arithmetic for every path. Lane l of a warp takes columns l, l + 32,
// ... with fmaf in that order; lanes join by the 16, 8, 4, 2, 1 tree; the sum is stored as BF16.
#pragma once

#include "gpu/core/view.h"
#include "gpu/kernels/numeric.h"

namespace assay {

// Four warps a block, one expert a warp, kRows tokens a warp (the weight row is read once for
// them).
template <int kRows, bool kChecked>
struct RouterLogits {
  static constexpr int kThreads = 128;
  static constexpr int kWarps = kThreads / kWarpSize;

  struct Args {
    int rows, hidden, experts;
    View<const Bf16, kChecked> input;   // [rows, hidden]
    View<const Bf16, kChecked> weight;  // [experts, hidden]
    View<Bf16, kChecked> logits;        // [rows, experts]
  };

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.experts, kWarps), CeilDiv(args.rows, kRows), 1}, kThreads};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int expert = block.x * kWarps + context.Thread() / kWarpSize;
    if (expert >= args.experts) return;  // the whole warp leaves; no block barrier follows
    float sums[kRows] = {};
    Accumulate(context, args, expert, block.y * kRows, sums);
    for (int r = 0; r < kRows; ++r) {
      const float sum = context.WarpSum(sums[r]);
      const int row = block.y * kRows + r;
      if (context.Thread() % kWarpSize == 0 && row < args.rows)
        args.logits.Store(context, Index{row} * args.experts + expert, Bf16::Round(sum));
    }
  }

 private:
  static constexpr void Accumulate(Context auto& context, const Args& args, int expert,
                                   int first_row, float (&sums)[kRows]) {
    for (int k = context.Thread() % kWarpSize; k < args.hidden; k += kWarpSize) {
      const float weight = args.weight.Load(context, Index{expert} * args.hidden + k).ToFloat();
      for (int r = 0; r < kRows && first_row + r < args.rows; ++r) {
        const Index at = Index{first_row + r} * args.hidden + k;
        sums[r] = fmaf(args.input.Load(context, at).ToFloat(), weight, sums[r]);
      }
    }
  }
};

}  // namespace assay
