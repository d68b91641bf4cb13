// The production paths as launch sequences. A problem reaches them only when the guards (paths.h)
// let it; the kernels launched must be those that ExpectedKernels declares.
#pragma once

#include "gpu/dispatch/stages.h"
#include "gpu/paths.h"

namespace assay {

// Which copy of the weights a path reads (note the difference for kHybrid: verify and
// single-token decode read row-major, batched reads the transposed copy).
constexpr bool ReadsTransposed(PathId path, Layout layout) {
  return layout == Layout::kTransposed ||
         (layout == Layout::kHybrid && path == PathId::kBatched);
}

// forward: one token.
template <class Policy, class Machine>
void RunSingle(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const Problem& p = *layer.problem;
  const TokenRange all{0, p.rows, 0};
  LaunchRouter<1>(machine, "gate_gemv", layer);
  LaunchTopK<Policy>(machine, "topk_softmax", "topk_sigmoid_bias", layer, all);
  if (p.format == Format::kMxfp4)
    LaunchE8m0Experts<Policy>(machine, "gate_up_t_e8m0", "silu_down_t_e8m0", layer, all);
  else if (ReadsTransposed(PathId::kSingle, p.layout))
    LaunchTransposedExperts<typename Policy::Nvfp4, typename Policy::Nvfp4>(
        machine, "gate_up_t", "silu_down_t", layer, all);
  else
    LaunchRowMajorExperts<Policy, 16>(machine, "gate_up", "silu_down", layer, all);
  LaunchBlend<Policy>(machine, "blend", layer, all);
  machine.TokensDone(all);
}

// forward_k3: three tokens in five launches.
template <class Policy, class Machine>
void RunK3Experts(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const TokenRange all{0, layer.problem->rows, 0};
  if (ReadsTransposed(PathId::kK3, layer.problem->layout))
    LaunchTransposedExperts<typename Policy::Nvfp4, typename Policy::Nvfp4>(
        machine, "gate_up_batch3_t", "silu_down_batch3_t", layer, all);
  else
    LaunchRowMajorExperts<Policy, 8>(machine, "gate_up_batch3", "silu_down_batch3", layer, all);
}

template <class Policy, class Machine>
void RunK3Route(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  LaunchRouter<3>(machine, "gate_gemv_batch3", layer);
  LaunchTopK<Policy>(machine, "topk_softmax_batched", "topk_sigmoid_bias_batched", layer,
                     {0, layer.problem->rows, 0});
}

template <class Policy, class Machine>
void RunK3(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const TokenRange all{0, layer.problem->rows, 0};
  RunK3Route<Policy>(machine, layer);
  RunK3Experts<Policy>(machine, layer);
  LaunchBlend<Policy>(machine, "blend_batch3", layer, all);
  machine.TokensDone(all);
}

// forward_batched: one gate GEMM, then each token through the single-token kernels; the expert
// scratch is reused.
template <class Policy, class Machine>
void RunBatched(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const Problem& p = *layer.problem;
  LaunchRouter<1>(machine, "gate_gemm", layer);
  for (int token = 0; token < p.rows; ++token) {
    const TokenRange one{token, 1, 0};
    LaunchTopK<Policy>(machine, "topk_softmax", "topk_sigmoid_bias", layer, one);
    if (p.format == Format::kMxfp4)
      LaunchE8m0Experts<Policy>(machine, "gate_up_t_e8m0", "silu_down_t_e8m0", layer, one);
    else if (ReadsTransposed(PathId::kBatched, p.layout))
      LaunchTransposedExperts<typename Policy::Nvfp4, typename Policy::Nvfp4>(
          machine, "gate_up_t", "silu_down_t", layer, one);
    else
      LaunchRowMajorExperts<Policy, 16>(machine, "gate_up", "silu_down", layer, one);
    LaunchBlend<Policy>(machine, "blend", layer, one);
    machine.TokensDone(one);
  }
}

// A path with a policy, as a program for any machine.
template <class Policy>
struct PathProgram {
  PathId path;

  // Rows of expert scratch: batched uses one token's for all.
  int ScratchRows(const Problem& problem) const {
    return path == PathId::kBatched ? 1 : problem.rows;
  }

  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    switch (path) {
      case PathId::kSingle: return RunSingle<Policy>(machine, layer);
      case PathId::kK3: return RunK3<Policy>(machine, layer);
      default: return RunBatched<Policy>(machine, layer);
    }
  }
};

}  // namespace assay
