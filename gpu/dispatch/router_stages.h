// The router of a step as launches: its input, logits, selection, and what the selection asks for
// afterwards.
#pragma once

#include "gpu/dispatch/layer_tensors.h"
#include "gpu/kernels/router.h"
#include "gpu/kernels/router_input.h"
#include "gpu/kernels/top_k.h"

namespace assay {

// Tokens [first, first + count) of the step; their expert scratch starts at row `scratch`.
struct TokenRange {
  int first, count, scratch;
};

// Whether the routing weight goes on the expert's input instead of on its output.
constexpr bool WeightsOnInput(const Problem& p) { return p.router == RouterKind::kSigmoidTop1; }

// Whether routed experts read something else than the layer's input.
constexpr bool HasRoutedInput(const Problem& p) { return WeightsOnInput(p) || p.pre_expert_norm; }

// What the dispatch makes of a layer's router.
struct RouteRule {
  static constexpr RouterKind KindOf(RouterKind kind) { return kind; }
  static int LogitStride(const Problem& p) { return p.RouterOutputs(); }
};

// Names of the selection kernels, by RouterKind.
struct TopKNames {
  const char *one, *batched;
};
inline constexpr TopKNames kTopKNames[] = {
    {"topk_softmax", "topk_softmax_batched"},
    {"topk_sigmoid_bias", "topk_sigmoid_bias_batched"},
    {"topk_sqrtsoftplus_bias", "topk_sqrtsoftplus_bias_batched"},
    {"topk_softmax_bias", "topk_softmax_bias_batched"},
    {"topk_hash", "topk_hash_batched"},
    {"topk_grouped_sigmoid_bias", "topk_grouped_sigmoid_bias_batched"},
    {"topk_then_softmax", "topk_then_softmax_batched"},
    {"topk_sigmoid_top1", "topk_sigmoid_top1_batched"}};
// `batched`: the form that serves several tokens at once.
constexpr const char* TopKName(RouterKind kind, bool batched) {
  const TopKNames& names = kTopKNames[static_cast<int>(kind)];
  return batched ? names.batched : names.one;
}

// Rows [first, first + count) of a tensor of `width` columns.
template <class View>
View RowsOf(const View& view, TokenRange tokens, Index width) {
  return view.Part(tokens.first * width, tokens.count * width);
}

template <bool kChecked>
View<const Bf16, kChecked> RoutedInput(const LayerTensors<kChecked>& layer) {
  return HasRoutedInput(*layer.problem) ? AsInput(layer.work.routed_input) : layer.input;
}

template <bool kChecked>
LogitView<kChecked> StoredLogits(const LayerTensors<kChecked>& layer) {
  const auto& work = layer.work;
  return {AsInput(work.logits), AsInput(work.logits_fp32), layer.problem->fp32_gate};
}

template <bool kChecked>
View<const Bf16, kChecked> RouterInput(const LayerTensors<kChecked>& layer) {
  return layer.problem->pre_norm ? AsInput(layer.work.router_input) : layer.input;
}

// The norm before the router, where there is one, then the logits of all tokens.
template <class Policy, int kRows, class Machine>
void LaunchRouter(Machine& machine, const char* name,
                  const LayerTensors<Machine::kChecked>& layer) {
  const Problem& p = *layer.problem;
  if (p.pre_norm)
    machine.Launch("pre_norm", RmsNorm<Machine::kChecked>{},
                   {p.rows, p.hidden, true, layer.input, layer.router.pre_norm_scale,
                    layer.work.router_input});
  machine.Launch(name, RouterLogits<typename Policy::GateRule, kRows, Machine::kChecked>{},
                 {p.rows, p.hidden, p.RouterOutputs(), RouterInput(layer), layer.router.weight,
                  layer.router.logit_bias, p.router_bias, layer.work.logits, layer.work.logits_fp32,
                  p.fp32_gate});
}

template <class Rule>
RouterSpec SpecOf(const Problem& p) {
  return {Rule::KindOf(p.router),
          p.norm,
          static_cast<float>(p.scale),
          p.experts,
          p.RouterOutputs(),
          p.top_k,
          p.groups,
          p.groups_kept};
}

template <class Rule, bool kChecked>
TopKArgs<kChecked> TopKArgsOf(const LayerTensors<kChecked>& layer, TokenRange tokens) {
  const Problem& p = *layer.problem;
  const Index first = Index{tokens.first} * Rule::LogitStride(p);
  const Index count = Index{tokens.count} * p.RouterOutputs();
  const bool hash = p.router == RouterKind::kHash, identity = p.zero_experts > 0;
  const auto& work = layer.work;
  return {tokens.count,
          SpecOf<Rule>(p),
          StoredLogits(layer).Part(first, count),
          layer.router.bias,
          HasScoreBias(Rule::KindOf(p.router)),
          layer.router.hash_table,
          hash ? RowsOf(layer.router.token_ids, tokens, 1) : layer.router.token_ids,
          RowsOf(work.ids, tokens, p.top_k),
          RowsOf(work.weights, tokens, p.top_k),
          identity ? RowsOf(work.identity_weights, tokens, 1) : work.identity_weights};
}

// What routed experts read, where that is not the layer's input.
template <class Machine>
void LaunchRoutedInput(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
                       TokenRange tokens) {
  const Problem& p = *layer.problem;
  if (!HasRoutedInput(p)) return;
  const auto input = RowsOf(layer.input, tokens, p.hidden);
  const auto output = RowsOf(layer.work.routed_input, tokens, p.hidden);
  if (p.pre_expert_norm)
    machine.Launch("pre_expert_norm", RmsNorm<Machine::kChecked>{},
                   {tokens.count, p.hidden, false, input, layer.router.pre_expert_scale, output});
  else
    machine.Launch(
        "weigh_input", WeighInput<Machine::kChecked>{},
        {tokens.count, p.hidden, input, AsInput(RowsOf(layer.work.weights, tokens, 1)), output});
}

// Selection, then the input of the routed experts.
template <class Policy, class Machine>
void LaunchTopK(Machine& machine, bool batched, const LayerTensors<Machine::kChecked>& layer,
                TokenRange tokens) {
  const Problem& p = *layer.problem;
  constexpr bool kChecked = Machine::kChecked;
  machine.Launch(TopKName(Policy::RouteRule::KindOf(p.router), batched),
                 TopKRoute<typename Policy::Arithmetic, typename Policy::TieRule, kChecked>{},
                 TopKArgsOf<typename Policy::RouteRule>(layer, tokens));
  LaunchRoutedInput(machine, layer, tokens);
}

// After the blend: what the identity experts add.
template <class Machine>
void LaunchIdentity(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
                    TokenRange tokens) {
  const Problem& p = *layer.problem;
  if (p.zero_experts == 0) return;
  machine.Launch("add_identity", AddIdentity<Machine::kChecked>{},
                 {tokens.count, p.hidden, RowsOf(layer.input, tokens, p.hidden),
                  AsInput(RowsOf(layer.work.identity_weights, tokens, 1)),
                  RowsOf(layer.work.output, tokens, p.hidden)});
}

}  // namespace assay
