// The planted faults as path programs, and the one list that maps names to them; compiled for the
// host and, where CUDA is built, for the GPU.
#pragma once

#include <string_view>

#include "fuzz/faults/kernels.h"
#include "fuzz/faults/policies.h"

namespace assay::faults {

// The transposed branch of K=3 returns before the blend.
struct NoBlend : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    RunRoute<ProductionPolicy, 3>(machine, layer, PathId::kK3);
    RunExperts<ProductionPolicy, 8>(machine, layer, PathId::kK3, {0, layer.problem->rows, 0});
    machine.TokensDone({0, layer.problem->rows, 0});
  }
};

// K=3 quietly runs the batched path.
struct SilentFallback : PathProgram<ProductionPolicy> {
  int ScratchRows(const Problem&) const { return 1; }
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    RunBatched<ProductionPolicy>(machine, layer);
  }
};

// The blend is launched for one token too many.
struct BlendOneRowTooMany : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    RunRoute<ProductionPolicy, 3>(machine, layer, PathId::kK3);
    RunExperts<ProductionPolicy, 8>(machine, layer, PathId::kK3, {0, layer.problem->rows, 0});
    const Problem& p = *layer.problem;
    machine.Launch("blend_batch3", Blend<BlendRule, Machine::kChecked>{},
                   {p.rows + 1, p.hidden, p.top_k, false, false, false, layer.input,
                    layer.shared_gate, AsInput(layer.work.weights), AsInput(layer.work.down),
                    AsInput(layer.work.shared_down), layer.work.output});
    machine.TokensDone({0, p.rows, 0});
  }
};

// Every second run of the process drops the last slot: what a cleared-once accumulator looks like.
struct SecondRunDiffers : PathProgram<ProductionPolicy> {
  mutable int runs = 0;

  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    RunRoute<ProductionPolicy, 3>(machine, layer, PathId::kK3);
    RunExperts<ProductionPolicy, 8>(machine, layer, PathId::kK3, {0, layer.problem->rows, 0});
    const TokenRange all{0, layer.problem->rows, 0};
    if (++runs % 2 == 1)
      LaunchBlend<ProductionPolicy>(machine, "blend_batch3", layer, all);
    else
      LaunchBlend<WithBlend<LastSlotDropped>>(machine, "blend_batch3", layer, all);
    machine.TokensDone(all);
  }
};

// The accumulator is cleared by plain launches only: a captured step relies on what lay there.
struct ClearNotCaptured : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    RunRoute<ProductionPolicy, kAtomicRows>(machine, layer, PathId::kAtomicC4);
    if (!machine.Capturing()) LaunchClearAccumulator(machine, layer);
    LaunchAtomicExperts<ProductionPolicy::Nvfp4, AtomicDownArgs>(machine, layer);
    LaunchAtomicBlend<ProductionPolicy>(machine, layer);
    machine.TokensDone({0, layer.problem->rows, 0});
  }
};

// After the all-reduce atomic C4 always computes the shared gate, of a layer that has none too.
struct AtomicNullGate : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    const Problem& p = *layer.problem;
    const TokenRange all{0, p.rows, 0};
    RunRoute<ProductionPolicy, kAtomicRows>(machine, layer, PathId::kAtomicC4);
    LaunchClearAccumulator(machine, layer);
    LaunchAtomicExperts<ProductionPolicy::Nvfp4, AtomicDownArgs>(machine, layer);
    LaunchAtomicBlend<ProductionPolicy>(machine, layer);
    machine.AllReduce(layer.work.output, Index{p.rows} * p.hidden);
    machine.Launch("residual_add", BatchedBlend<BlendRule, Machine::kChecked>{},
                   {p.rows, p.hidden, true, layer.input, layer.shared_gate,
                    AsInput(layer.work.shared_down), layer.work.output});
    machine.TokensDone(all);
  }
};

// Atomic C4 whose second run in a process differs: its accumulator is cleared in the first run
// only, or an addition is lost.
template <bool kClearsOnce, bool kLoses>
struct AtomicSecondRun : PathProgram<ProductionPolicy> {
  mutable int runs = 0;

  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    using F = ProductionPolicy::Nvfp4;
    const bool second = ++runs % 2 == 0;
    RunRoute<ProductionPolicy, kAtomicRows>(machine, layer, PathId::kAtomicC4);
    if (!kClearsOnce || runs == 1) LaunchClearAccumulator(machine, layer);
    if (kLoses && second)
      LaunchAtomicExperts<F, LossyDownArgs>(machine, layer);
    else
      LaunchAtomicExperts<F, AtomicDownArgs>(machine, layer);
    LaunchAtomicBlend<ProductionPolicy>(machine, layer);
    machine.TokensDone({0, layer.problem->rows, 0});
  }
};

// Transposed K=3 with other expert kernels.
template <template <class, class, bool> class GateUp, template <class, class, bool> class SiluDown>
struct WithKernels : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    using F = ProductionPolicy::Nvfp4;
    const TokenRange all{0, layer.problem->rows, 0};
    RunRoute<ProductionPolicy, 3>(machine, layer, PathId::kK3);
    machine.Launch("gate_up_batch3_t", GateUp<F, F, Machine::kChecked>{},
                   GateUpArgsOf(layer, layer.transposed, all));
    machine.Launch("silu_down_batch3_t", SiluDown<F, F, Machine::kChecked>{},
                   SiluDownArgsOf(layer, layer.transposed, all));
    LaunchBlend<ProductionPolicy>(machine, "blend_batch3", layer, all);
    machine.TokensDone(all);
  }
};

// The blend of FP8 K=3 computes the shared gate whether or not there is one.
struct NullGateUnchecked : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    const TokenRange all{0, layer.problem->rows, 0};
    RunRoute<ProductionPolicy, 3>(machine, layer, PathId::kK3);
    RunExperts<ProductionPolicy, 8>(machine, layer, PathId::kK3, all);
    const Problem& p = *layer.problem;
    machine.Launch("blend_batch3", Blend<BlendRule, Machine::kChecked>{},
                   {p.rows, p.hidden, p.top_k, false, true, true, layer.input, layer.shared_gate,
                    AsInput(layer.work.weights), AsInput(layer.work.down),
                    AsInput(layer.work.shared_down), layer.work.output});
    machine.TokensDone(all);
  }
};

// K=3 on BF16 experts reads the FP8 originals, which were freed when they were dequantised.
struct ReadsFreedFp8 : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    const TokenRange all{0, layer.problem->rows, 0};
    RunRoute<ProductionPolicy, 3>(machine, layer, PathId::kK3);
    LaunchFp8Experts<ProductionPolicy, 8>(machine, "gate_up_batch3_fp8", "silu_down_batch3_fp8",
                                          layer, all);
    LaunchBlend<ProductionPolicy>(machine, "blend_batch3", layer, all);
    machine.TokensDone(all);
  }
};

// The fused kernels of a mixed layer run its shared expert too, from null pointers.
struct NullSharedUnchecked : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    using F = ProductionPolicy::Nvfp4;
    const TokenRange all{0, layer.problem->rows, 0};
    RunRoute<ProductionPolicy, 3>(machine, layer, PathId::kK3);
    auto gate_up = GateUpArgsOf(layer, layer.transposed, all);
    auto down = SiluDownArgsOf(layer, layer.transposed, all);
    gate_up.slots.has_shared = down.slots.has_shared = true;
    machine.Launch("gate_up_batch3_t", GateUpTransposed<F, F, Machine::kChecked>{}, gate_up);
    machine.Launch("silu_down_batch3_t", SiluDownTransposed<F, F, Machine::kChecked>{}, down);
    LaunchSharedBf16(machine, layer, all);
    LaunchBlend<ProductionPolicy>(machine, "blend_batch3", layer, all);
    machine.TokensDone(all);
  }
};

// FP8 single-token decode with other expert kernels.
template <template <class, int, bool> class GateUp, template <class, int, bool> class SiluDown>
struct SingleFp8With : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    using F = ProductionPolicy::Fp8;
    const TokenRange all{0, layer.problem->rows, 0};
    RunRoute<ProductionPolicy, 1>(machine, layer, PathId::kSingle);
    machine.Launch("gate_up_fp8", GateUp<F, 16, Machine::kChecked>{},
                   GateUpArgsOf(layer, layer.fp8, all));
    machine.Launch("silu_down_fp8", SiluDown<F, 16, Machine::kChecked>{},
                   SiluDownArgsOf(layer, layer.fp8, all));
    LaunchBlend<ProductionPolicy>(machine, "blend", layer, all);
    machine.TokensDone(all);
  }
};

// One expert's group is summed in another order than the loop over tokens sums it.
struct GroupedLaneOrder : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    RunFp8Grouped<OneGroupInAnotherOrder, ProductionPolicy>(machine, layer);
  }
};

// Prefill drops the columns after the last whole tile.
struct GemmTailDropped : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    RunPrefill<TailDroppingGemm, ProductionPolicy>(machine, layer);
  }
};

// The down projection takes the table entry after the chosen expert's.
struct DownOfNextExpert : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    auto shifted = layer;
    const Index rest = layer.problem->experts - 1;
    shifted.row_major.down.routed = shifted.row_major.down.routed.Part(1, rest);
    shifted.transposed.down.routed = shifted.transposed.down.routed.Part(1, rest);
    PathProgram<ProductionPolicy>::Run(machine, shifted);
  }
};

// Expert parallel: every rank blends the replicated shared expert in before the all-reduce.
struct SharedBeforeReduce {
  template <class Policy, class Machine>
  static void Launch(Machine& machine, const char* blend,
                     const LayerTensors<Machine::kChecked>& layer, TokenRange tokens) {
    const Problem& p = *layer.problem;
    LaunchBlend<Policy>(machine, blend, layer, tokens);
    if (p.ep == 1) return;
    const Index count = Index{tokens.count} * p.hidden;
    machine.AllReduce(layer.work.output.Part(Index{tokens.first} * p.hidden, count), count);
  }
};

// Expert parallel: the shared expert joins as a plain residual, whatever its gate says.
struct GateForgottenAfterReduce {
  template <class Policy, class Machine>
  static void Launch(Machine& machine, const char* blend,
                     const LayerTensors<Machine::kChecked>& layer, TokenRange tokens) {
    Problem ungated = *layer.problem;
    ungated.shared_gate = SharedGate::kNone;
    auto forgotten = layer;
    forgotten.problem = &ungated;
    FinishStep::Launch<Policy>(machine, blend, forgotten, tokens);
  }
};

// Expert parallel: a layer without a shared expert adds what lies in its scratch all the same.
struct StaleSharedAdded {
  template <class Policy, class Machine>
  static void Launch(Machine& machine, const char* blend,
                     const LayerTensors<Machine::kChecked>& layer, TokenRange tokens) {
    FinishStep::Launch<Policy>(machine, blend, layer, tokens);
    if (!layer.problem->shared) LaunchAddShared<Policy>(machine, "residual_add", layer, tokens);
  }
};

// Expert parallel: only rank 0 adds the shared expert.
struct SharedOnRankZero {
  template <class Policy, class Machine>
  static void Launch(Machine& machine, const char* blend,
                     const LayerTensors<Machine::kChecked>& layer, TokenRange tokens) {
    if (machine.Rank() == 0) return FinishStep::Launch<Policy>(machine, blend, layer, tokens);
    Problem without = *layer.problem;
    without.shared.reset();
    auto other = layer;
    other.problem = &without;
    FinishStep::Launch<Policy>(machine, blend, other, tokens);
  }
};

// Calls `visit(program)` with the fault's program; false: no such fault.
template <class Visit>
bool VisitProgram(std::string_view name, PathId path, const Visit& visit) {
  const auto with = [&]<class Policy>(Policy) {
    visit(PathProgram<Policy>{path});
    return true;
  };
  const auto own = [&]<class Program>(Program program) {
    program.path = path;
    visit(program);
    return true;
  };
  if (name == "k3_e8m0_unguarded" || name == "c4_e8m0_unguarded") return with(ProductionPolicy{});
  if (name == "c4_clear_not_captured") return own(ClearNotCaptured{});
  if (name == "c4_ep_null_gate") return own(AtomicNullGate{});
  if (name == "c4_clears_once") return own(AtomicSecondRun<true, false>{});
  if (name == "c4_update_lost") return own(AtomicSecondRun<false, true>{});
  if (name == "e8m0_decoded_as_e4m3") return with(WithMxfp4<E8m0AsE4m3>{});
  if (name == "wrong_scale_group_tail") return with(WithNvfp4<TailUsesPreviousGroup>{});
  if (name == "nibbles_swapped") return with(WithNvfp4<SwappedNibbles>{});
  if (name == "scale2_missing") return with(WithNvfp4<WithoutScale2>{});
  if (name == "scale_truncated_to_bf16") return with(WithNvfp4<TruncatedScale>{});
  if (name == "shared_gate_ignored") return with(WithBlend<GateIgnored>{});
  if (name == "slot_dropped") return with(WithBlend<LastSlotDropped>{});
  if (name == "bf16_truncated") return with(WithBlend<Truncated>{});
  if (name == "tie_breaks_by_lane") return with(WithLaterLane{});
  if (name == "e4m3_subnormals_flushed") return with(WithNvfp4<FlushedSubnormalScales>{});
  if (name == "foreign_scale_discarded") return own(WithKernels<NosyGateUp, SiluDownTransposed>{});
  if (name == "t_branch_without_blend") return own(NoBlend{});
  if (name == "silent_fallback") return own(SilentFallback{});
  if (name == "blend_one_row_too_many") return own(BlendOneRowTooMany{});
  if (name == "second_run_differs") return own(SecondRunDiffers{});
  if (name == "barrier_after_early_return")
    return own(WithKernels<GateUpTransposed, EarlyReturnSiluDown>{});
  if (name == "scratch_not_cleared")
    return own(WithKernels<GateUpTransposed, AccumulatingSiluDown>{});
  if (name == "down_of_next_expert") return own(DownOfNextExpert{});
  if (name == "fp8_nan_codes_kept") return with(WithFp8<Fp8StandardKernel>{});
  if (name == "fp8_scales_of_64") return with(WithFp8<Fp8ScalesOf64>{});
  if (name == "fp8_null_gate_blend") return own(NullGateUnchecked{});
  if (name == "k3_bf16_reads_freed_fp8") return own(ReadsFreedFp8{});
  if (name == "null_shared_unchecked") return own(NullSharedUnchecked{});
  if (name == "k_tail_dropped") return own(SingleFp8With<TailDroppingGateUp, PlainSiluDown>{});
  if (name == "ragged_rows_skip_barrier")
    return own(SingleFp8With<PlainGateUp, ImpatientSiluDown>{});
  if (name == "act_buffer_of_1024") return own(SingleFp8With<PlainGateUp, SmallBufferSiluDown>{});
  if (name == "clamp_in_one_silu_down") return own(SingleFp8With<PlainGateUp, ClampingSiluDown>{});
  if (name == "gemm_tail_dropped") return own(GemmTailDropped{});
  if (name == "grouped_lane_order") return own(GroupedLaneOrder{});
  if (name == "ep_shared_counted_per_rank") return with(WithFinish<SharedBeforeReduce>{});
  if (name == "ep_gate_forgotten") return with(WithFinish<GateForgottenAfterReduce>{});
  if (name == "ep_stale_shared") return with(WithFinish<StaleSharedAdded>{});
  if (name == "ep_shared_on_rank_zero") return with(WithFinish<SharedOnRankZero>{});
  return false;
}

}  // namespace assay::faults
