// One layer step as the dispatch code holds it: the tensors in device memory, as views.
#pragma once

#include "gpu/kernels/expert_slots.h"
#include "gpu/kernels/lora.h"
#include "gpu/kernels/router_tensors.h"
#include "reference/problem.h"

namespace assay {

// Weight tables of one packing; empty where the layout has no such copy.
template <class Word, bool kChecked>
struct LayerTables {
  ExpertTables<Word, kChecked> gate, up, down;
};

// Scratch and outputs. Rows: `scratch_rows` of gate, up, down and the shared ones (the step's rows,
// or 1 where a path reuses them for each token).
template <bool kChecked>
struct Workspace {
  View<Bf16, kChecked> router_input;            // [rows, hidden], or empty without pre-norm
  View<Bf16, kChecked> logits;                  // [rows, outputs], or empty with an FP32 gate
  View<float, kChecked> logits_fp32;            // [rows, outputs], or empty with a BF16 gate
  View<float, kChecked> identity_weights;       // [rows], or empty without identity experts
  View<Bf16, kChecked> routed_input;            // [rows, hidden], or empty where it is the input
  View<std::uint32_t, kChecked> ids;            // [rows, top_k]
  View<float, kChecked> weights;                // [rows, top_k]
  View<Bf16, kChecked> gate, up;                // [scratch rows * top_k, inter]
  View<Bf16, kChecked> down;                    // [scratch rows * top_k, hidden]
  View<Bf16, kChecked> shared_gate, shared_up;  // [scratch rows, shared inter]
  View<Bf16, kChecked> shared_act;              // the same, of a mixed layer
  View<Bf16, kChecked> shared_down;             // [scratch rows, hidden]
  View<Bf16, kChecked> output;                  // [rows, hidden]

  // Of atomic C4, which has no `down`; its ids and weights lie in the same block of scratch.
  View<float, kChecked> accumulator;  // [rows, hidden]
  Index atomic_bytes = 0;             // of the block

  // Of paths that group rows by expert; empty elsewhere. Slots: routed ones, then the shared. The
  // activation is FP32 up to kGroupedRows rows, BF16 above.
  View<float, kChecked> act;                                  // [slots, inter]
  View<Bf16, kChecked> gemm_act;                              // [slots, inter]
  View<std::uint32_t, kChecked> group_begins, group_experts;  // [groups + 1], [groups]
  View<std::uint32_t, kChecked> group_order;                  // [slots]
};

// Outputs are the experts, then the identity experts.
template <bool kChecked>
struct RouterTensors {
  GateWeights<kChecked> weight;                   // [outputs, hidden]
  View<const float, kChecked> bias;               // [outputs], or empty: on the score
  View<const Bf16, kChecked> logit_bias;          // [outputs], or empty: on the logit
  View<const Bf16, kChecked> pre_norm_scale;      // [hidden], or empty
  View<const Bf16, kChecked> pre_expert_scale;    // [hidden], or empty
  View<const std::int64_t, kChecked> hash_table;  // [vocabulary, top_k], or empty
  View<const std::uint32_t, kChecked> token_ids;  // [rows], or empty
};

// Adapters, folded into the results of their sites; empty where no row has one.
template <bool kChecked>
struct LoraTensors {
  View<const std::int32_t, kChecked> row_adapter;                       // [rows]
  View<const LoraMatrices<kChecked>, kChecked> router, gate, up, down;  // [adapters]
};

template <bool kChecked>
struct LayerTensors {
  const Problem* problem = nullptr;
  View<const Bf16, kChecked> input;  // [rows, hidden]
  RouterTensors<kChecked> router;
  LoraTensors<kChecked> lora;
  View<const Bf16, kChecked> shared_gate;  // [hidden], or empty
  LayerTables<std::uint32_t, kChecked> row_major;
  LayerTables<std::uint8_t, kChecked> transposed;
  LayerTables<std::uint16_t, kChecked> bf16;  // of a mixed layer the shared expert alone
  LayerTables<E4m3Code, kChecked> fp8;
  Workspace<kChecked> work;
};

template <class T, bool kChecked>
View<const T, kChecked> AsInput(const View<T, kChecked>& view) {
  if constexpr (kChecked)
    return {view.Data(), view.tag()};
  else
    return {view.Data(), Tag{}};
}

}  // namespace assay
