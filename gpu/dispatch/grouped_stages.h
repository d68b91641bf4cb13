// The stages of paths that group a step's rows by expert, as launches.
#pragma once

#include "gpu/dispatch/stages.h"
#include "gpu/kernels/grouped_gemm.h"

namespace assay {

template <bool kChecked>
int GroupsOf(const LayerTensors<kChecked>& layer) {
  const Problem& p = *layer.problem;
  return GroupCount(SlotsOf(layer, {0, p.rows, 0}), p.experts);
}

template <class Machine>
ExpertGroups<Machine::kChecked> LaunchGroupRows(Machine& machine,
                                                const LayerTensors<Machine::kChecked>& layer) {
  const Problem& p = *layer.problem;
  const auto& work = layer.work;
  machine.Launch("group_rows", GroupRows<Machine::kChecked>{},
                 {SlotsOf(layer, {0, p.rows, 0}), p.experts, AsInput(work.ids), work.group_begins,
                  work.group_experts, work.group_order});
  return {AsInput(work.group_begins), AsInput(work.group_experts), AsInput(work.group_order)};
}

// gate and up, activation, down of all tokens, each expert's weights once.
template <class Product, class Machine>
void LaunchGroupedFp8(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
                      const ExpertGroups<Machine::kChecked>& groups) {
  const Problem& p = *layer.problem;
  const auto gate_up = GateUpArgsOf(layer, layer.fp8, {0, p.rows, 0});
  const auto down = SiluDownArgsOf(layer, layer.fp8, {0, p.rows, 0});
  machine.Launch("gate_up_grouped_fp8", GroupedGateUp<Product, Machine::kChecked>{},
                 {gate_up, GroupsOf(layer), groups});
  machine.Launch("silu_grouped", GroupedAct<Machine::kChecked>{},
                 {gate_up.slots, p.inter, down.routed_gate, down.routed_up, down.shared_gate,
                  down.shared_up, layer.work.act});
  machine.Launch("down_grouped_fp8", GroupedDown<Product, Machine::kChecked>{},
                 {gate_up.slots, p.hidden, p.inter, GroupsOf(layer), groups,
                  AsInput(layer.work.act), down.table, down.routed_down, down.shared_down});
}

// gate and up, silu_mul, down of all tokens as grouped GEMMs; the activation is BF16.
template <class Product, class Word, class Machine>
void LaunchGroupedGemms(Machine& machine, const char* gate_up_name, const char* down_name,
                        const LayerTensors<Machine::kChecked>& layer,
                        const LayerTables<Word, Machine::kChecked>& tables,
                        const ExpertGroups<Machine::kChecked>& groups) {
  constexpr bool kChecked = Machine::kChecked;
  const Problem& p = *layer.problem;
  const auto gate_up = GateUpArgsOf(layer, tables, {0, p.rows, 0});
  const auto down = SiluDownArgsOf(layer, tables, {0, p.rows, 0});
  const auto& act = layer.work.gemm_act;
  machine.Launch(gate_up_name, GroupedGateUp<Product, kChecked>{},
                 {gate_up, GroupsOf(layer), groups});
  const auto silu_mul = [&](const auto& gate, const auto& up, Index first, Index count) {
    machine.Launch("silu_mul", SiluMul<kChecked>{}, {count, gate, up, act.Part(first, count)});
  };
  const Index routed = p.Slots() * p.inter;
  silu_mul(down.routed_gate, down.routed_up, 0, routed);
  if (p.shared) silu_mul(down.shared_gate, down.shared_up, routed, Index{p.rows} * p.inter);
  machine.Launch(down_name, GroupedDown<Product, kChecked>{},
                 {gate_up.slots, p.hidden, p.inter, GroupsOf(layer), groups, AsInput(act),
                  down.table, down.routed_down, down.shared_down});
}

// The routed sum is stored, then the shared expert is added and the sum stored again.
template <class Policy, class Machine>
void LaunchTwoBlends(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const TokenRange all{0, layer.problem->rows, 0};
  LaunchRoutedBlend<Policy>(machine, "weighted_sum", layer, all);
  if (layer.problem->shared) LaunchAddShared<Policy>(machine, "batched_blend", layer, all);
  LaunchIdentity(machine, layer, all);
}

}  // namespace assay
