// The planted faults of the routers as path programs.
#pragma once

#include <string_view>

#include "fuzz/faults/router_policies.h"

namespace assay::faults {

// The logits' buffer has no room for the identity experts.
struct LogitsWithoutIdentity : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    auto small = layer;
    const Problem& p = *layer.problem;
    small.work.logits = layer.work.logits.Part(0, Index{p.rows} * p.experts);
    PathProgram<ProductionPolicy>::Run(machine, small);
  }
};

// The bias of the scores is taken from a BF16 tensor, as if it were FP32.
struct Bf16BiasAsFp32 : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    auto wrong = layer;
    const auto& bf16 = layer.router.logit_bias;
    Tag tag;
    if constexpr (Machine::kChecked) tag = bf16.tag();
    tag.extent /= 2;
    wrong.router.bias = {reinterpret_cast<const float*>(bf16.Data()), tag};
    PathProgram<ProductionPolicy>::Run(machine, wrong);
  }
};

// A machine that launches another fold.
template <class Wrong, class Machine>
struct WrongFoldMachine {
  static constexpr bool kChecked = Machine::kChecked;
  Machine& machine;

  template <class Kernel>
  void Launch(const char* name, const Kernel& kernel, const typename Kernel::Args& args) {
    if constexpr (std::is_same_v<Kernel, LoraFold<LoraRule, kChecked>>)
      machine.Launch(name, LoraFold<Wrong, kChecked>{}, args);
    else
      machine.Launch(name, kernel, args);
  }
  template <class... Arguments>
  void AllReduce(const Arguments&... arguments) {
    machine.AllReduce(arguments...);
  }
  void TokensDone(TokenRange range) { machine.TokensDone(range); }
};
template <class Wrong>
struct WithFold : PathProgram<ProductionPolicy> {
  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    WrongFoldMachine<Wrong, Machine> wrong{machine};
    PathProgram<ProductionPolicy>::Run(wrong, layer);
  }
};

// Calls `visit(program)` with the fault's program; false: no such fault.
template <class Visit>
bool VisitRouterProgram(std::string_view name, PathId path, const Visit& visit) {
  const auto with = [&]<class Policy>(Policy) {
    visit(PathProgram<Policy>{path});
    return true;
  };
  const auto own = [&]<class Program>(Program program) {
    program.path = path;
    visit(program);
    return true;
  };
  if (name == "sqrtsoftplus_overflows") return with(WithArithmetic<NaiveSoftplus>{});
  if (name == "norm_epsilon_added") return with(WithArithmetic<EpsilonAdded>{});
  if (name == "routed_scaling_twice") return with(WithArithmetic<ScaledTwice>{});
  if (name == "routed_scaling_missing") return with(WithArithmetic<NotScaled>{});
  if (name == "biased_score_as_weight") return with(WithArithmetic<BiasInWeight>{});
  if (name == "group_ranked_by_best") return with(WithArithmetic<GroupsByBest>{});
  if (name == "dropped_group_filled_with_0") return with(WithArithmetic<DroppedGroupsAreZero>{});
  if (name == "nan_logit_chosen") return with(WithArithmetic<NanWins>{});
  if (name == "index_0_repeated") return with(WithArithmetic<IndexZeroRepeated>{});
  if (name == "hash_id_mapped_to_0") return with(WithArithmetic<StrayIdsAreZero>{});
  if (name == "identity_slot_not_moved") return with(WithArithmetic<IdentityStays>{});
  if (name == "hash_routed_as_softmax" || name == "sqrtsoftplus_routed_as_sigmoid")
    return with(WithRoute<SigmoidForAll>{});
  if (name == "logits_stride_by_experts") return with(WithRoute<StrideByExperts>{});
  if (name == "gate_sums_in_another_order") return with(WithGate<LanesOfChunks>{});
  if (name == "k3_ignores_fp32_gate") return with(WithGate<Fp32GateIgnored>{});
  if (name == "logits_without_identity_experts") return own(LogitsWithoutIdentity{});
  if (name == "lora_refuse_ignored") return with(ProductionPolicy{});
  if (name == "lora_low_rank_not_rounded") return own(WithFold<LowRankNotRounded>{});
  if (name == "lora_delta_not_rounded") return own(WithFold<DeltaNotRounded>{});
  if (name == "lora_on_row_without_adapter") return own(WithFold<RowsWithoutAdapterToo>{});
  if (name == "bf16_bias_as_fp32") return own(Bf16BiasAsFp32{});
  return false;
}

}  // namespace assay::faults
