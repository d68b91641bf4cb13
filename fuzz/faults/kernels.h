// Small kernels of faults that no policy can express.
#pragma once

#include "gpu/kernels/gate_up.h"
#include "gpu/kernels/silu_down.h"

namespace assay::faults {

// Reads the scale of the next output's row as well and discards it: no number shows it.
template <class Routed, class Shared, bool kChecked>
struct NosyGateUp : GateUpTransposed<Routed, Shared, kChecked> {
  using Base = GateUpTransposed<Routed, Shared, kChecked>;
  using Args = typename Base::Args;

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int next = (block.x * Base::kThreads + context.Thread() + 1) % args.inter;
    if (!args.slots.IsShared(block.y)) {
      const auto expert = static_cast<Index>(args.ids.Load(context, block.y));
      args.tables[block.z].routed.Load(context, expert).scale.Load(context, next);
    }
    Base{}(context, args);
  }
};

// Threads without an output leave before the barrier.
template <class Routed, class Shared, bool kChecked>
struct EarlyReturnSiluDown : SiluDownTransposed<Routed, Shared, kChecked> {
  using Base = SiluDownTransposed<Routed, Shared, kChecked>;
  using Args = typename Base::Args;

  constexpr void operator()(Context auto& context, const Args& args) const {
    if (context.Block().x * Base::kThreads + context.Thread() >= args.hidden) return;
    Base{}(context, args);
  }
};

// Adds to what the scratch held, as an accumulator that nobody cleared.
template <class Routed, class Shared, bool kChecked>
struct AccumulatingSiluDown : SiluDownTransposed<Routed, Shared, kChecked> {
  using Base = SiluDownTransposed<Routed, Shared, kChecked>;
  using Args = typename Base::Args;

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int row = block.x * Base::kThreads + context.Thread();
    const bool adds = row < args.hidden && !args.slots.IsShared(block.y);
    const Index at = Index{block.y} * args.hidden + row;
    const float stale = adds ? args.routed_down.Load(context, at).ToFloat() : 0.0f;
    Base{}(context, args);
    if (!adds) return;
    const float fresh = args.routed_down.Load(context, at).ToFloat();
    args.routed_down.Store(context, at, Bf16::Round(fresh + stale));
  }
};

}  // namespace assay::faults
