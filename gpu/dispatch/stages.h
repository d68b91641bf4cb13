// The stages of a step as launches. A `Policy` names the kernels' policies (formats, tie rule,
// blend); production's is ProductionPolicy. A `Machine` launches kernels by name.
#pragma once

#include "gpu/dispatch/lora_stages.h"
#include "gpu/dispatch/mixed.h"
#include "gpu/kernels/batched_blend.h"
#include "gpu/kernels/blend.h"
#include "gpu/kernels/shared_expert.h"

namespace assay {

struct FinishStep;

struct ProductionPolicy {
  using Nvfp4 = Nvfp4Kernel;
  using Mxfp4 = Mxfp4Kernel;
  using Mxfp4Standard = Mxfp4StandardKernel;
  using Fp8 = Fp8Kernel;
  using Fp8Standard = Fp8StandardKernel;
  using TieRule = LowerIndexWins;
  using Arithmetic = RouterArithmetic;
  using GateRule = assay::GateRule;
  using BlendRule = assay::BlendRule;
  using Finish = FinishStep;
  using RouteRule = assay::RouteRule;
};

// What the fused kernels serve: a mixed layer's shared expert is not theirs.
template <bool kChecked>
SlotGrid SlotsOf(const LayerTensors<kChecked>& layer, TokenRange tokens) {
  const Problem& p = *layer.problem;
  return {tokens.count, p.top_k, p.shared.has_value() && !IsMixed(p)};
}

// Rows of `tokens` in scratch of one row a token.
template <class T, bool kChecked>
View<T, kChecked> ScratchRows(const View<T, kChecked>& view, TokenRange tokens, int width) {
  return view.Part(Index{tokens.scratch} * width, Index{tokens.count} * width);
}

template <class Word, bool kChecked>
GateUpArgs<Word, kChecked> GateUpArgsOf(const LayerTensors<kChecked>& layer,
                                        const LayerTables<Word, kChecked>& tables,
                                        TokenRange tokens) {
  const Problem& p = *layer.problem;
  const auto& work = layer.work;
  const Index slots = Index{tokens.count} * p.top_k, routed = Index{tokens.scratch} * p.top_k;
  const auto input_rows = [&](const auto& view) {
    return view.Part(Index{tokens.first} * p.hidden, Index{tokens.count} * p.hidden);
  };
  const auto expert_rows = [&](const auto& view) {
    return view.Part(routed * p.inter, slots * p.inter);
  };
  const auto shared_rows = [&](const auto& view) {
    return ScratchRows(view, tokens, p.SharedInter());
  };
  return {SlotsOf(layer, tokens),
          p.hidden,
          p.inter,
          input_rows(RoutedInput(layer)),
          input_rows(layer.input),
          AsInput(work.ids.Part(Index{tokens.first} * p.top_k, slots)),
          {tables.gate, tables.up},
          {expert_rows(work.gate), expert_rows(work.up)},
          {shared_rows(work.shared_gate), shared_rows(work.shared_up)}};
}

template <class Word, bool kChecked>
SiluDownArgs<Word, kChecked> SiluDownArgsOf(const LayerTensors<kChecked>& layer,
                                            const LayerTables<Word, kChecked>& tables,
                                            TokenRange tokens) {
  const Problem& p = *layer.problem;
  const auto& work = layer.work;
  const auto gate_up = GateUpArgsOf(layer, tables, tokens);
  const Index slots = Index{tokens.count} * p.top_k, routed = Index{tokens.scratch} * p.top_k;
  return {gate_up.slots,
          p.hidden,
          p.inter,
          AsInput(gate_up.routed[0]),
          AsInput(gate_up.routed[1]),
          AsInput(gate_up.shared[0]),
          AsInput(gate_up.shared[1]),
          gate_up.ids,
          tables.down,
          work.down.Part(routed * p.hidden, slots * p.hidden),
          ScratchRows(work.shared_down, tokens, p.hidden)};
}

// gate, up and down with row-major kernels of kStep columns a lane.
template <class Format, int kStep, class Word, class Machine>
void LaunchRowMajorExperts(Machine& machine, const char* gate_up, const char* silu_down,
                           const LayerTensors<Machine::kChecked>& layer,
                           const LayerTables<Word, Machine::kChecked>& tables, TokenRange tokens) {
  const auto up = GateUpArgsOf(layer, tables, tokens);
  const auto down = SiluDownArgsOf(layer, tables, tokens);
  machine.Launch(gate_up, GateUpRowMajor<Format, Format, kStep, Machine::kChecked>{}, up);
  LaunchGateUpFold(machine, layer, up, tokens);
  machine.Launch(silu_down, SiluDownRowMajor<Format, Format, kStep, Machine::kChecked>{}, down);
  LaunchDownFold(machine, layer, down, tokens);
}

template <class Policy, int kStep, class Machine>
void LaunchFp8Experts(Machine& machine, const char* gate_up, const char* silu_down,
                      const LayerTensors<Machine::kChecked>& layer, TokenRange tokens) {
  if (layer.problem->codes == CodePolicy::kStandard)
    LaunchRowMajorExperts<typename Policy::Fp8Standard, kStep>(machine, gate_up, silu_down, layer,
                                                               layer.fp8, tokens);
  else
    LaunchRowMajorExperts<typename Policy::Fp8, kStep>(machine, gate_up, silu_down, layer,
                                                       layer.fp8, tokens);
}

template <class Routed, class Shared, class Machine>
void LaunchTransposedExperts(Machine& machine, const char* gate_up, const char* silu_down,
                             const LayerTensors<Machine::kChecked>& layer, TokenRange tokens) {
  const auto up = GateUpArgsOf(layer, layer.transposed, tokens);
  const auto down = SiluDownArgsOf(layer, layer.transposed, tokens);
  machine.Launch(gate_up, GateUpTransposed<Routed, Shared, Machine::kChecked>{}, up);
  LaunchGateUpFold(machine, layer, up, tokens);
  machine.Launch(silu_down, SiluDownTransposed<Routed, Shared, Machine::kChecked>{}, down);
  LaunchDownFold(machine, layer, down, tokens);
}

// The shared expert of a mixed layer; overwrites shared_down.
template <class Machine>
void LaunchSharedBf16(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
                      TokenRange tokens) {
  const Problem& p = *layer.problem;
  const int inter = p.SharedInter();
  const auto& work = layer.work;
  auto gate_up = GateUpArgsOf(layer, layer.bf16, tokens);
  gate_up.slots = {tokens.count, 0, true};  // shared slots alone
  gate_up.inter = inter;
  machine.Launch("shared_gate_up_bf16",
                 GateUpRowMajor<Bf16Kernel, Bf16Kernel, 16, Machine::kChecked>{}, gate_up);
  const auto act = ScratchRows(work.shared_act, tokens, inter);
  machine.Launch(
      "shared_silu_mul", SiluMul<Machine::kChecked>{},
      {Index{tokens.count} * inter, AsInput(gate_up.shared[0]), AsInput(gate_up.shared[1]), act});
  machine.Launch("shared_down_bf16", SharedDown<Bf16Kernel, 16, Machine::kChecked>{},
                 {tokens.count, p.hidden, inter, AsInput(act), layer.bf16.down.shared,
                  ScratchRows(work.shared_down, tokens, p.hidden)});
}

template <class Policy, class Machine>
void LaunchE8m0Experts(Machine& machine, const char* gate_up, const char* silu_down,
                       const LayerTensors<Machine::kChecked>& layer, TokenRange tokens) {
  using Shared = typename Policy::Nvfp4;
  if (layer.problem->codes == CodePolicy::kStandard)
    LaunchTransposedExperts<typename Policy::Mxfp4Standard, Shared>(machine, gate_up, silu_down,
                                                                    layer, tokens);
  else
    LaunchTransposedExperts<typename Policy::Mxfp4, Shared>(machine, gate_up, silu_down, layer,
                                                            tokens);
}

template <class Rule, bool kChecked>
typename Blend<Rule, kChecked>::Args BlendArgsOf(const LayerTensors<kChecked>& layer,
                                                 TokenRange tokens) {
  const Problem& p = *layer.problem;
  const auto downs = SiluDownArgsOf(layer, layer.row_major, tokens);
  const Index first = tokens.first, count = tokens.count;
  return {tokens.count,
          p.hidden,
          p.top_k,
          WeightsOnInput(p),
          p.shared.has_value(),
          p.HasSharedGate(),
          layer.input.Part(first * p.hidden, count * p.hidden),
          layer.shared_gate,
          AsInput(layer.work.weights.Part(first * p.top_k, count * p.top_k)),
          AsInput(downs.routed_down),
          AsInput(downs.shared_down),
          layer.work.output.Part(first * p.hidden, count * p.hidden)};
}

// The blend, then what identity experts add.
template <class Policy, class Machine>
void LaunchBlend(Machine& machine, const char* name, const LayerTensors<Machine::kChecked>& layer,
                 TokenRange tokens) {
  using Rule = typename Policy::BlendRule;
  machine.Launch(name, Blend<Rule, Machine::kChecked>{}, BlendArgsOf<Rule>(layer, tokens));
  LaunchIdentity(machine, layer, tokens);
}

// The routed part of the output alone.
template <class Policy, class Machine>
void LaunchRoutedBlend(Machine& machine, const char* name,
                       const LayerTensors<Machine::kChecked>& layer, TokenRange tokens) {
  using Rule = typename Policy::BlendRule;
  auto args = BlendArgsOf<Rule>(layer, tokens);
  args.has_shared = args.has_gate = false;
  machine.Launch(name, Blend<Rule, Machine::kChecked>{}, args);
}

// Adds the shared expert to the stored output, and stores it again.
template <class Policy, class Machine>
void LaunchAddShared(Machine& machine, const char* name,
                     const LayerTensors<Machine::kChecked>& layer, TokenRange tokens) {
  using Rule = typename Policy::BlendRule;
  const auto args = BlendArgsOf<Rule>(layer, tokens);
  machine.Launch(name, BatchedBlend<Rule, Machine::kChecked>{},
                 {args.tokens, args.hidden, args.has_gate, args.input, args.shared_gate,
                  args.shared_down, args.output});
}

// Under expert parallel the ranks' partial outputs are all-reduced, then the replicated shared
// expert is added once: a residual add where it has no gate.
template <class Policy, class Machine>
void LaunchReduction(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
                     TokenRange tokens) {
  const Problem& p = *layer.problem;
  if (p.ep == 1) return;
  machine.AllReduce(
      layer.work.output.Part(Index{tokens.first} * p.hidden, Index{tokens.count} * p.hidden),
      Index{tokens.count} * p.hidden);
  if (p.shared)
    LaunchAddShared<Policy>(machine, p.HasSharedGate() ? "batched_blend" : "residual_add", layer,
                            tokens);
}

// The output of `tokens` from their down results; each rank blends what its experts gave.
struct FinishStep {
  template <class Policy, class Machine>
  static void Launch(Machine& machine, const char* blend,
                     const LayerTensors<Machine::kChecked>& layer, TokenRange tokens) {
    const Problem& p = *layer.problem;
    if (p.ep == 1) return LaunchBlend<Policy>(machine, blend, layer, tokens);
    LaunchRoutedBlend<Policy>(machine, blend, layer, tokens);
    LaunchReduction<Policy>(machine, layer, tokens);
  }
};

}  // namespace assay
