// The stages of paths that group a step's rows by expert, as launches.
#pragma once

#include "gpu/dispatch/stages.h"
#include "gpu/kernels/grouped_experts.h"

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

// The kernels of one FP8 format; a planted fault brings others.
template <class Format, bool kChecked>
struct GroupedFp8Kernels {
  using GateUp = GroupedGateUp<Format, 16, kChecked>;
  using Down = GroupedDown<Format, 16, kChecked>;
};

// gate and up, activation, down of all tokens, each expert's weights once; as batched sums them.
template <class Kernels, class Machine>
void LaunchGroupedFp8(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
                      const ExpertGroups<Machine::kChecked>& groups) {
  const Problem& p = *layer.problem;
  const auto gate_up = GateUpArgsOf(layer, layer.fp8, {0, p.rows, 0});
  const auto down = SiluDownArgsOf(layer, layer.fp8, {0, p.rows, 0});
  machine.Launch("gate_up_grouped_fp8", typename Kernels::GateUp{},
                 {gate_up, GroupsOf(layer), groups});
  machine.Launch("silu_grouped", GroupedAct<Machine::kChecked>{},
                 {gate_up.slots, p.inter, down.routed_gate, down.routed_up, down.shared_gate,
                  down.shared_up, layer.work.act});
  machine.Launch("down_grouped_fp8", typename Kernels::Down{},
                 {gate_up.slots, p.hidden, p.inter, GroupsOf(layer), groups,
                  AsInput(layer.work.act), down.table, down.routed_down, down.shared_down});
}

}  // namespace assay
