// LoRA folded into a stored result: row = bf16(base + scale * bf16(bf16(x A^T) B^T)). Skipped where
// the row's adapter is below zero or its pair is null.
#pragma once

#include "gpu/core/view.h"
#include "gpu/kernels/numeric.h"

namespace assay {

// One adapter at one site; null views: it leaves the site alone.
template <bool kChecked>
struct LoraMatrices {
  View<const Bf16, kChecked> a;  // [rank, inputs]
  View<const Bf16, kChecked> b;  // [outputs, rank]
  float scale = 0.0f;
};

struct LoraRule {
  static constexpr int Adapter(int of_row) { return of_row; }  // below zero: none
  static constexpr float Low(float sum) { return Bf16::Round(sum).ToFloat(); }
  static constexpr float Delta(float sum) { return Bf16::Round(sum).ToFloat(); }
};

template <bool kChecked>
struct LoraArgs {
  int rows, rows_per_token, inputs_per_row;  // x has one row for so many of ours
  int inputs, outputs, rank, sites;
  bool activates;  // x is silu(gate) * up of `x` and `up`, as BF16
  View<const Bf16, kChecked> x, up;
  View<const std::int32_t, kChecked> row_adapter;            // [tokens]
  View<const LoraMatrices<kChecked>, kChecked> adapters[2];  // by site: [adapters]
  View<Bf16, kChecked> target[2];                            // by site: [rows, outputs]
};

// Grid y: rows, z: sites. x A^T once a block: one warp a rank, lanes of columns and the tree.
template <class Rule, bool kChecked>
struct LoraFold {
  static constexpr int kThreads = 128, kWarps = kThreads / kWarpSize;
  using Args = LoraArgs<kChecked>;

  static LaunchShape Shape(const Args& args) {
    return {{CeilDiv(args.outputs, kThreads), args.rows, args.sites},
            kThreads,
            args.rank * static_cast<int>(sizeof(float))};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int adapter =
        Rule::Adapter(args.row_adapter.Load(context, block.y / args.rows_per_token));
    if (adapter < 0) return;  // the whole block, before its barrier
    const LoraMatrices<kChecked> pair = args.adapters[block.z].Load(context, adapter);
    if (pair.a.Data() == nullptr) return;
    const View<float, kChecked> low = LowRank(context, args.rank);
    for (int r = context.Thread() / kWarpSize; r < args.rank; r += kWarps) {
      const float sum = context.WarpSum(LaneDot(context, args, pair, r));
      if (context.Thread() % kWarpSize == 0) low.Store(context, r, Rule::Low(sum));
    }
    context.Barrier();
    const int column = block.x * kThreads + context.Thread();
    if (column < args.outputs) Add(context, args, pair, low, column);
  }

 private:
  static constexpr View<float, kChecked> LowRank(Context auto& context, int rank) {
    const auto shared = context.template Shared<float>(rank);
    Tag tag;
    tag.name = "shared memory: low rank";
    tag.extent = static_cast<Index>(shared.size());
    return {shared.data(), tag};
  }

  static constexpr float X(Context auto& context, const Args& args, int k) {
    const Index at = Index{context.Block().y / args.inputs_per_row} * args.inputs + k;
    const float x = args.x.Load(context, at).ToFloat();
    if (!args.activates) return x;
    const float act = (x * Sigmoid(x)) * args.up.Load(context, at).ToFloat();
    return Bf16::Round(act).ToFloat();
  }

  static constexpr float LaneDot(Context auto& context, const Args& args,
                                 const LoraMatrices<kChecked>& pair, int r) {
    float sum = 0.0f;
    for (int k = context.Thread() % kWarpSize; k < args.inputs; k += kWarpSize) {
      const float weight = pair.a.Load(context, Index{r} * args.inputs + k).ToFloat();
      sum = fmaf(X(context, args, k), weight, sum);
    }
    return sum;
  }

  static constexpr void Add(Context auto& context, const Args& args,
                            const LoraMatrices<kChecked>& pair, const View<float, kChecked>& low,
                            int column) {
    float sum = 0.0f;
    for (int r = 0; r < args.rank; ++r) {
      const float weight = pair.b.Load(context, Index{column} * args.rank + r).ToFloat();
      sum = fmaf(low.Load(context, r), weight, sum);
    }
    const Index3 block = context.Block();
    const Index at = Index{block.y} * args.outputs + column;
    const float base = args.target[block.z].Load(context, at).ToFloat();
    const float scaled = pair.scale * Rule::Delta(sum);
    args.target[block.z].Store(context, at, Bf16::Round(base + scaled));
  }
};

}  // namespace assay
