// Adapters folded between the launches of a step.
#pragma once

#include "gpu/dispatch/router_stages.h"
#include "gpu/kernels/gate_up.h"
#include "gpu/kernels/silu_down.h"
#include "reference/lora.h"

namespace assay {

// The three routes of a batch: Fold launches, Skip does not (no row has an adapter), Refuse never
// comes this far.
constexpr bool FoldsLora(const Problem& p) { return p.lora == Lora::kFold; }

// Router delta on the stored logits of all tokens.
template <class Machine>
void LaunchRouterFold(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const Problem& p = *layer.problem;
  if (!FoldsLora(p)) return;
  const auto x = RouterInput(layer);
  machine.Launch("lora_router", LoraFold<LoraRule, Machine::kChecked>{},
                 {p.rows,
                  1,
                  1,
                  p.hidden,
                  p.RouterOutputs(),
                  kMaxLoraRank,
                  1,
                  false,
                  x,
                  x,
                  layer.lora.row_adapter,
                  {layer.lora.router, layer.lora.router},
                  {layer.work.logits, layer.work.logits}});
}

// gate and up of the routed slots, before the activation.
template <class Word, class Machine>
void LaunchGateUpFold(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
                      const GateUpArgs<Word, Machine::kChecked>& args, TokenRange tokens) {
  const Problem& p = *layer.problem;
  if (!FoldsLora(p)) return;
  machine.Launch("lora_gate_up", LoraFold<LoraRule, Machine::kChecked>{},
                 {args.slots.Routed(),
                  p.top_k,
                  p.top_k,
                  p.hidden,
                  p.inter,
                  kMaxLoraRank,
                  2,
                  false,
                  args.routed_input,
                  args.routed_input,
                  RowsOf(layer.lora.row_adapter, tokens, 1),
                  {layer.lora.gate, layer.lora.up},
                  {args.routed[0], args.routed[1]}});
}

// down of the routed slots, before the blend.
template <class Word, class Machine>
void LaunchDownFold(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
                    const SiluDownArgs<Word, Machine::kChecked>& args, TokenRange tokens) {
  const Problem& p = *layer.problem;
  if (!FoldsLora(p)) return;
  machine.Launch("lora_down", LoraFold<LoraRule, Machine::kChecked>{},
                 {args.slots.Routed(),
                  p.top_k,
                  1,
                  p.inter,
                  p.hidden,
                  kMaxLoraRank,
                  1,
                  true,
                  args.routed_gate,
                  args.routed_up,
                  RowsOf(layer.lora.row_adapter, tokens, 1),
                  {layer.lora.down, layer.lora.down},
                  {args.routed_down, args.routed_down}});
}

}  // namespace assay
