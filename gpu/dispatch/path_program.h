// The production paths as launch sequences. A problem reaches them only when the guards (paths.h)
// let it; the kernels launched must be those that ExpectedKernels declares.
#pragma once

#include "gpu/dispatch/stages.h"
#include "gpu/paths.h"

namespace assay {

// Which copy of the weights a path reads (note the difference for kHybrid: verify and
// single-token decode read row-major, batched reads the transposed copy).
constexpr bool ReadsTransposed(PathId path, Layout layout) {
  return layout == Layout::kTransposed || (layout == Layout::kHybrid && path == PathId::kBatched);
}

// forward: one token.
template <class Policy, class Machine>
void RunSingle(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const Problem& p = *layer.problem;
  const TokenRange all{0, p.rows, 0};
  LaunchRouter<1>(machine, "gate_gemv", layer);
  LaunchTopK<Policy>(machine, "topk_softmax", "topk_sigmoid_bias", layer, all);
  if (p.format == Format::kBf16)
    LaunchBf16Experts<16>(machine, "gate_up_bf16", "silu_down_bf16", layer, all);
  else if (p.format == Format::kMxfp4)
    LaunchE8m0Experts<Policy>(machine, "gate_up_t_e8m0", "silu_down_t_e8m0", layer, all);
  else if (ReadsTransposed(PathId::kSingle, p.layout))
    LaunchTransposedExperts<typename Policy::Nvfp4, typename Policy::Nvfp4>(
        machine, "gate_up_t", "silu_down_t", layer, all);
  else
    LaunchRowMajorExperts<Policy, 16>(machine, "gate_up", "silu_down", layer, all);
  LaunchBlend<Policy>(machine, "blend", layer, all);
  machine.TokensDone(all);
}

// The kernels of a verify path, by name; the router's weight row is read once for kRows tokens.
struct VerifyKernels {
  const char *router, *softmax, *sigmoid, *gate_up, *silu_down, *gate_up_t, *silu_down_t,
      *gate_up_bf16, *silu_down_bf16, *blend;
};
inline constexpr VerifyKernels kK2Kernels = {.router = "gate_gemv_batch2",
                                             .softmax = "topk_softmax_batched",
                                             .sigmoid = "topk_sigmoid_bias_batched",
                                             .gate_up = "gate_up_batch2",
                                             .silu_down = "silu_down_batch2",
                                             .gate_up_t = "gate_up_batch2_t",
                                             .silu_down_t = "silu_down_batch2_t",
                                             .gate_up_bf16 = "gate_up_batch2_bf16",
                                             .silu_down_bf16 = "silu_down_batch2_bf16",
                                             .blend = "blend_batch2"};
inline constexpr VerifyKernels kK3Kernels = {.router = "gate_gemv_batch3",
                                             .softmax = "topk_softmax_batched",
                                             .sigmoid = "topk_sigmoid_bias_batched",
                                             .gate_up = "gate_up_batch3",
                                             .silu_down = "silu_down_batch3",
                                             .gate_up_t = "gate_up_batch3_t",
                                             .silu_down_t = "silu_down_batch3_t",
                                             .gate_up_bf16 = nullptr,  // falls back
                                             .silu_down_bf16 = nullptr,
                                             .blend = "blend_batch3"};
inline constexpr VerifyKernels kKnKernels = {.router = "gate_gemv_batchn",
                                             .softmax = "topk_softmax_batched",
                                             .sigmoid = "topk_sigmoid_bias_batched",
                                             .gate_up = "gate_up_batchn",
                                             .silu_down = "silu_down_batchn",
                                             .gate_up_t = nullptr,  // the ladder is row-major
                                             .silu_down_t = nullptr,
                                             .gate_up_bf16 = nullptr,
                                             .silu_down_bf16 = nullptr,
                                             .blend = "blend_batchn"};

// forward_k2, forward_k3, forward_kn: all tokens in five launches.
template <class Policy, int kRows, class Machine>
void RunVerifyRoute(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
                    const VerifyKernels& kernels) {
  LaunchRouter<kRows>(machine, kernels.router, layer);
  LaunchTopK<Policy>(machine, kernels.softmax, kernels.sigmoid, layer, {0, layer.problem->rows, 0});
}

template <class Policy, class Machine>
void RunVerifyExperts(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
                      const VerifyKernels& kernels) {
  const TokenRange all{0, layer.problem->rows, 0};
  if (layer.problem->format == Format::kBf16)
    LaunchBf16Experts<8>(machine, kernels.gate_up_bf16, kernels.silu_down_bf16, layer, all);
  else if (ReadsTransposed(PathId::kK3, layer.problem->layout))
    LaunchTransposedExperts<typename Policy::Nvfp4, typename Policy::Nvfp4>(
        machine, kernels.gate_up_t, kernels.silu_down_t, layer, all);
  else
    LaunchRowMajorExperts<Policy, 8>(machine, kernels.gate_up, kernels.silu_down, layer, all);
}

template <class Policy, int kRows, class Machine>
void RunVerify(Machine& machine, const LayerTensors<Machine::kChecked>& layer,
               const VerifyKernels& kernels) {
  const TokenRange all{0, layer.problem->rows, 0};
  RunVerifyRoute<Policy, kRows>(machine, layer, kernels);
  RunVerifyExperts<Policy>(machine, layer, kernels);
  LaunchBlend<Policy>(machine, kernels.blend, layer, all);
  machine.TokensDone(all);
}

template <class Policy, class Machine>
void RunK3Route(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  RunVerifyRoute<Policy, 3>(machine, layer, kK3Kernels);
}
template <class Policy, class Machine>
void RunK3Experts(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  RunVerifyExperts<Policy>(machine, layer, kK3Kernels);
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
    if (p.format == Format::kBf16)
      LaunchBf16Experts<16>(machine, "gate_up_bf16", "silu_down_bf16", layer, one);
    else if (p.format == Format::kMxfp4)
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
      case PathId::kSingle:
        return RunSingle<Policy>(machine, layer);
      case PathId::kK2:
        return RunVerify<Policy, 2>(machine, layer, kK2Kernels);
      case PathId::kK3:
        return RunVerify<Policy, 3>(machine, layer, kK3Kernels);
      case PathId::kKn:
        return RunVerify<Policy, 4>(machine, layer, kKnKernels);
      default:
        return RunBatched<Policy>(machine, layer);
    }
  }
};

}  // namespace assay
