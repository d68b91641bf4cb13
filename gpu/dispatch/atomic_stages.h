// forward_atomic_c4_decode as launches.
#pragma once

#include "gpu/dispatch/atomic_scratch.h"
#include "gpu/dispatch/stages.h"
#include "gpu/kernels/atomic_down.h"

namespace assay {

template <class Machine>
void LaunchClearAccumulator(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const Problem& p = *layer.problem;
  machine.Launch("clear_accumulator", ClearAccumulator<Machine::kChecked>{},
                 {p.rows, p.hidden, layer.work.accumulator});
}

// gate and up, down onto the accumulator. `DownArgs`: how a down result is added.
template <class Format, template <class, bool> class DownArgs, class Machine>
void LaunchAtomicExperts(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  constexpr int kStep = 8;
  constexpr bool kChecked = Machine::kChecked;
  const TokenRange all{0, layer.problem->rows, 0};
  machine.Launch("gate_up_token_major", GateUpRowMajor<Format, Format, kStep, kChecked>{},
                 GateUpArgsOf(layer, layer.row_major, all));
  machine.Launch("silu_down_atomic", SiluDownRowMajor<Format, Format, kStep, kChecked, DownArgs>{},
                 {SiluDownArgsOf(layer, layer.row_major, all), AsInput(layer.work.weights),
                  layer.work.accumulator});
}

// Under expert parallel the shared expert joins after the all-reduce.
template <class Policy, class Machine>
void LaunchAtomicBlend(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const Problem& p = *layer.problem;
  const bool adds_shared = p.shared && p.ep == 1;
  machine.Launch("blend_atomic", AtomicBlend<typename Policy::BlendRule, Machine::kChecked>{},
                 {p.rows, p.hidden, adds_shared, adds_shared && p.HasSharedGate(), layer.input,
                  layer.shared_gate, AsInput(layer.work.accumulator),
                  AsInput(layer.work.shared_down), layer.work.output});
}

}  // namespace assay
