// Small kernels of faults that no policy can express.
#pragma once

#include "gpu/kernels/atomic_down.h"
#include "gpu/kernels/gate_up.h"
#include "gpu/kernels/grouped_gemm.h"
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

// Computes where a byte lies in 32 bits. Shows in matrices of more than 2^33 weights only.
template <class Routed, class Shared, bool kChecked>
struct NarrowIndexGateUp : GateUpTransposed<Routed, Shared, kChecked> {
  using Base = GateUpTransposed<Routed, Shared, kChecked>;
  using Args = typename Base::Args;

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int row = block.x * Base::kThreads + context.Thread();
    if (row >= args.inter) return;
    const auto expert = static_cast<Index>(args.ids.Load(context, block.y));
    const auto matrix = args.tables[block.z].routed.Load(context, expert);
    const auto rows = static_cast<std::uint32_t>(args.inter);
    float sum = 0.0f;
    for (int column = 0; column < args.hidden; column += 2) {
      const std::uint32_t at = static_cast<std::uint32_t>(column / 2) * rows + row;
      const std::uint32_t pair = matrix.payload.LoadFor(context, {row, column}, at);
      sum += Routed::Code(pair, 0) + Routed::Code(pair, 1);
    }
    args.Store(context, block.z, block.y, row, sum);
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

// Columns after the last whole step of a lane are dropped.
template <class Format, int kStep, bool kChecked>
struct TailDroppingGateUp : GateUpRowMajor<Format, Format, kStep, kChecked> {
  using Base = GateUpRowMajor<Format, Format, kStep, kChecked>;
  using Args = typename Base::Args;

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const int warp = context.Thread() / kWarpSize;
    const int first = block.x * Base::kRowsPerBlock + warp * Base::kRowsPerWarp;
    const int whole = args.hidden / kStep * kStep;
    const auto input = args.Input(context, block.y);
    const auto value = [&](int column) { return column < whole ? input(column) : 0.0f; };
    const auto outputs = [&](auto format, const auto& matrix) {
      for (int row = first; row < first + Base::kRowsPerWarp && row < args.inter; ++row) {
        const float sum = context.WarpSum(
            LaneDotRowMajor<decltype(format), kStep>(context, matrix, args.hidden, row, value));
        if (context.Thread() % kWarpSize == 0) args.Store(context, block.z, block.y, row, sum);
      }
    };
    ForSlot<Format, Format>(context, args.slots, block.y, args.ids, args.tables[block.z], outputs);
  }
};

// Warps without an output leave before the barrier: the last block of rows that are no multiple of
// eight.
template <class Format, int kStep, bool kChecked>
struct ImpatientSiluDown : SiluDownRowMajor<Format, Format, kStep, kChecked> {
  using Base = SiluDownRowMajor<Format, Format, kStep, kChecked>;
  using Args = typename Base::Args;

  constexpr void operator()(Context auto& context, const Args& args) const {
    const int warp = context.Thread() / kWarpSize;
    if (context.Block().x * Base::kRowsPerBlock + warp * Base::kRowsPerWarp >= args.hidden) return;
    Base{}(context, args);
  }
};

// How a wrong kernel fills its activations.
struct BufferOf1024 {
  static constexpr int Floats(int) { return 1024; }
  static constexpr float Clamp(float x) { return x; }
};
struct ClampedAtTen {
  static constexpr int Floats(int inter) { return inter; }
  static constexpr float Clamp(float x) { return fminf(fmaxf(x, -10.0f), 10.0f); }
};
template <class Rule, class Format, int kStep, bool kChecked>
struct OddSiluDown {
  using Plain = SiluDownRowMajor<Format, Format, kStep, kChecked>;
  using Args = typename Plain::Args;
  static constexpr int kThreads = Plain::kThreads;

  static LaunchShape Shape(const Args& args) {
    LaunchShape shape = Plain::Shape(args);
    shape.shared_bytes = Rule::Floats(args.inter) * static_cast<int>(sizeof(float));
    return shape;
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const Index3 block = context.Block();
    const auto shared = context.template Shared<float>(Rule::Floats(args.inter));
    Tag tag;
    tag.name = "shared memory: activation";
    tag.extent = static_cast<Index>(shared.size());
    const View<float, kChecked> activation(shared.data(), tag);
    Fill(context, args, activation);
    context.Barrier();
    const int first =
        block.x * Plain::kRowsPerBlock + context.Thread() / kWarpSize * Plain::kRowsPerWarp;
    const auto value = [&](int column) { return activation.Load(context, column); };
    const auto outputs = [&](auto format, const auto& matrix) {
      for (int row = first; row < first + Plain::kRowsPerWarp && row < args.hidden; ++row) {
        const float sum = context.WarpSum(
            LaneDotRowMajor<decltype(format), kStep>(context, matrix, args.inter, row, value));
        if (context.Thread() % kWarpSize == 0) args.Store(context, block.y, row, sum);
      }
    };
    ForSlot<Format, Format>(context, args.slots, block.y, args.ids, args.table, outputs);
  }

 private:
  static constexpr void Fill(Context auto& context, const Args& args,
                             const View<float, kChecked>& activation) {
    const int slot = context.Block().y;
    const bool is_shared = args.slots.IsShared(slot);
    const auto& gate = is_shared ? args.shared_gate : args.routed_gate;
    const auto& up = is_shared ? args.shared_up : args.routed_up;
    const Index first = Index{is_shared ? slot - args.slots.Routed() : slot} * args.inter;
    for (int i = context.Thread(); i < args.inter; i += kThreads) {
      const float silu = Silu(Rule::Clamp(gate.Load(context, first + i).ToFloat()));
      const float up_value = Rule::Clamp(up.Load(context, first + i).ToFloat());
      activation.Store(context, i, silu * up_value);
    }
  }
};

template <class Format, int kStep, bool kChecked>
using PlainGateUp = GateUpRowMajor<Format, Format, kStep, kChecked>;
template <class Format, int kStep, bool kChecked>
using PlainSiluDown = SiluDownRowMajor<Format, Format, kStep, kChecked>;
template <class Format, int kStep, bool kChecked>
using SmallBufferSiluDown = OddSiluDown<BufferOf1024, Format, kStep, kChecked>;
template <class Format, int kStep, bool kChecked>
using ClampingSiluDown = OddSiluDown<ClampedAtTen, Format, kStep, kChecked>;

// The first group is summed in another lane order.
template <class Format>
struct OneGroupInAnotherOrder : LaneProduct<Format, 16> {
  template <bool kChecked, class Matrix, class Value, class Store>
  static constexpr void Run(Context auto& context, const ExpertGroups<kChecked>& groups,
                            const Matrix& matrix, int rows, int columns, const Value& value,
                            const Store& store) {
    if (context.Block().y == 0)
      LaneProduct<Format, 8>::Run(context, groups, matrix, rows, columns, value, store);
    else
      LaneProduct<Format, 16>::Run(context, groups, matrix, rows, columns, value, store);
  }
};

// Columns after the last whole tile of 16 count as zeros.
template <class Format>
struct TailDroppingGemm : MmaProduct<Format> {
  template <bool kChecked, class Matrix, class Value, class Store>
  static constexpr void Run(Context auto& context, const ExpertGroups<kChecked>& groups,
                            const Matrix& matrix, int rows, int columns, const Value& value,
                            const Store& store) {
    const int whole = columns / 16 * 16;
    const auto kept = [&](int slot, int column) {
      return column < whole ? value(slot, column) : Bf16{0};
    };
    MmaProduct<Format>::Run(context, groups, matrix, rows, columns, kept, store);
  }
};

// The last slot's addition is lost, as a race between a load and a store loses one.
template <class Word, bool kChecked>
struct LossyDownArgs : AtomicDownArgs<Word, kChecked> {
  constexpr void Store(Context auto& context, int slot, int row, float sum) const {
    const bool lost = !this->slots.IsShared(slot) && slot % this->slots.top_k == 2;
    if (!lost) AtomicDownArgs<Word, kChecked>::Store(context, slot, row, sum);
  }
};

}  // namespace assay::faults
