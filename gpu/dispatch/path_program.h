// The production paths as launch sequences. A problem reaches them only when the guards (paths.h)
// let it; the kernels launched must be those that ExpectedKernels declares.
#pragma once

#include "gpu/dispatch/atomic_stages.h"
#include "gpu/dispatch/grouped_stages.h"
#include "gpu/paths.h"

namespace assay {

// The copy of the routed weights that a path reads; it decides the expert kernels.
enum class Packing { kRowMajor, kTransposed, kE8m0, kBf16, kFp8 };
inline constexpr int kPackings = 5;

// For kHybrid: verify and single-token decode read row-major, batched reads the transposed copy.
// The verify paths look at the layout alone: it is their guards that keep E8M0 tables away.
constexpr Packing PackingOf(PathId path, const Problem& p) {
  if (p.format == Format::kBf16) return Packing::kBf16;
  if (p.format == Format::kFp8Block) return Packing::kFp8;
  const bool per_token = path == PathId::kSingle || path == PathId::kBatched;
  if (p.format == Format::kMxfp4 && per_token) return Packing::kE8m0;
  const bool transposed =
      p.layout == Layout::kTransposed || (p.layout == Layout::kHybrid && path == PathId::kBatched);
  return transposed ? Packing::kTransposed : Packing::kRowMajor;
}

// A path's kernels by name. An empty name: the guards never let such a problem through.
struct ExpertKernels {
  const char *gate_up = "", *silu_down = "";
};
struct StepKernels {
  const char* router;
  bool batched_topk;
  ExpertKernels experts[kPackings];  // by Packing
  const char* blend;

  const ExpertKernels& Of(Packing packing) const { return experts[static_cast<int>(packing)]; }
};
inline constexpr ExpertKernels kPerTokenExperts[kPackings] = {
    {"gate_up", "silu_down"},
    {"gate_up_t", "silu_down_t"},
    {"gate_up_t_e8m0", "silu_down_t_e8m0"},
    {"gate_up_bf16", "silu_down_bf16"},
    {"gate_up_fp8", "silu_down_fp8"}};
inline constexpr StepKernels kSingleKernels = {
    "gate_gemv",
    false,
    {kPerTokenExperts[0], kPerTokenExperts[1], kPerTokenExperts[2], kPerTokenExperts[3],
     kPerTokenExperts[4]},
    "blend"};
inline constexpr StepKernels kBatchedKernels = {
    "gate_gemm",
    false,
    {kPerTokenExperts[0], kPerTokenExperts[1], kPerTokenExperts[2], kPerTokenExperts[3],
     kPerTokenExperts[4]},
    "blend"};
inline constexpr StepKernels kK2Kernels = {"gate_gemv_batch2",
                                           true,
                                           {{"gate_up_batch2", "silu_down_batch2"},
                                            {"gate_up_batch2_t", "silu_down_batch2_t"},
                                            {},
                                            {"gate_up_batch2_bf16", "silu_down_batch2_bf16"},
                                            {"gate_up_batch2_fp8", "silu_down_batch2_fp8"}},
                                           "blend_batch2"};
inline constexpr StepKernels kK3Kernels = {"gate_gemv_batch3",
                                           true,
                                           {{"gate_up_batch3", "silu_down_batch3"},
                                            {"gate_up_batch3_t", "silu_down_batch3_t"},
                                            {},
                                            {},
                                            {"gate_up_batch3_fp8", "silu_down_batch3_fp8"}},
                                           "blend_batch3"};
inline constexpr StepKernels kKnKernels = {"gate_gemv_batchn",
                                           true,
                                           {{"gate_up_batchn", "silu_down_batchn"}, {}, {}, {}, {}},
                                           "blend_batchn"};

inline constexpr StepKernels kAtomicKernels = {
    "gate_gemv_batch4",
    true,
    {{"gate_up_token_major", "silu_down_atomic"}, {}, {}, {}, {}},
    "blend_atomic"};

constexpr const StepKernels& KernelsOf(PathId path) {
  switch (path) {
    case PathId::kSingle:
      return kSingleKernels;
    case PathId::kK2:
      return kK2Kernels;
    case PathId::kK3:
      return kK3Kernels;
    case PathId::kKn:
      return kKnKernels;
    case PathId::kAtomicC4:
      return kAtomicKernels;
    default:
      return kBatchedKernels;
  }
}

// gate, up and down of the fused kernels, from the packing that `path` reads; kStep columns a lane.
template <class Policy, int kStep, class Machine>
void RunFusedExperts(Machine& machine, const LayerTensors<Machine::kChecked>& layer, PathId path,
                     TokenRange tokens) {
  const Packing packing = PackingOf(path, *layer.problem);
  const auto [gate_up, silu_down] = KernelsOf(path).Of(packing);
  using F = typename Policy::Nvfp4;
  switch (packing) {
    case Packing::kRowMajor:
      return LaunchRowMajorExperts<F, kStep>(machine, gate_up, silu_down, layer, layer.row_major,
                                             tokens);
    case Packing::kBf16:
      return LaunchRowMajorExperts<Bf16Kernel, kStep>(machine, gate_up, silu_down, layer,
                                                      layer.bf16, tokens);
    case Packing::kFp8:
      return LaunchFp8Experts<Policy, kStep>(machine, gate_up, silu_down, layer, tokens);
    case Packing::kE8m0:
      return LaunchE8m0Experts<Policy>(machine, gate_up, silu_down, layer, tokens);
    case Packing::kTransposed:
      return LaunchTransposedExperts<F, F>(machine, gate_up, silu_down, layer, tokens);
  }
}

// gate, up and down of `tokens`, the shared expert of a mixed layer in its own pass.
template <class Policy, int kStep, class Machine>
void RunExperts(Machine& machine, const LayerTensors<Machine::kChecked>& layer, PathId path,
                TokenRange tokens) {
  RunFusedExperts<Policy, kStep>(machine, layer, path, tokens);
  if (IsMixed(*layer.problem)) LaunchSharedBf16(machine, layer, tokens);
}

// forward, forward_k2, forward_k3, forward_kn: all tokens at once. The router's weight row is read
// once for kRows tokens.
template <class Policy, int kRows, class Machine>
void RunRoute(Machine& machine, const LayerTensors<Machine::kChecked>& layer, PathId path) {
  const StepKernels& kernels = KernelsOf(path);
  LaunchRouter<Policy, kRows>(machine, kernels.router, layer);
  LaunchRouterFold(machine, layer);
  LaunchTopK<Policy>(machine, kernels.batched_topk, layer, {0, layer.problem->rows, 0});
}

template <class Policy, int kRows, int kStep, class Machine>
void RunFused(Machine& machine, const LayerTensors<Machine::kChecked>& layer, PathId path) {
  const TokenRange all{0, layer.problem->rows, 0};
  RunRoute<Policy, kRows>(machine, layer, path);
  RunExperts<Policy, kStep>(machine, layer, path, all);
  Policy::Finish::template Launch<Policy>(machine, KernelsOf(path).blend, layer, all);
  machine.TokensDone(all);
}

// forward_batched: one gate GEMM, then each token through the single-token kernels; the expert
// scratch is reused.
template <class Policy, class Machine>
void RunBatched(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  LaunchRouter<Policy, 1>(machine, kBatchedKernels.router, layer);
  LaunchRouterFold(machine, layer);
  for (int token = 0; token < layer.problem->rows; ++token) {
    const TokenRange one{token, 1, 0};
    LaunchTopK<Policy>(machine, kBatchedKernels.batched_topk, layer, one);
    RunExperts<Policy, 16>(machine, layer, PathId::kBatched, one);
    Policy::Finish::template Launch<Policy>(machine, kBatchedKernels.blend, layer, one);
    machine.TokensDone(one);
  }
}

// fp8_grouped_decode: rows grouped by expert, summed as RunBatched sums them: its bits.
template <class Format>
using AsBatchedSums = LaneProduct<Format, 16>;

template <template <class> class Product, class Policy, class Machine>
void RunFp8Grouped(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const TokenRange all{0, layer.problem->rows, 0};
  LaunchRouter<Policy, 1>(machine, kBatchedKernels.router, layer);
  LaunchTopK<Policy>(machine, true, layer, all);
  const auto groups = LaunchGroupRows(machine, layer);
  if (layer.problem->codes == CodePolicy::kStandard)
    LaunchGroupedFp8<Product<typename Policy::Fp8Standard>>(machine, layer, groups);
  else
    LaunchGroupedFp8<Product<typename Policy::Fp8>>(machine, layer, groups);
  LaunchBlend<Policy>(machine, kBatchedKernels.blend, layer, all);
  machine.TokensDone(all);
}

// forward_prefill: grouped GEMMs on tensor cores.
template <template <class> class Product, class Policy, class Machine>
void RunPrefill(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  const TokenRange all{0, layer.problem->rows, 0};
  LaunchRouter<Policy, 1>(machine, kBatchedKernels.router, layer);
  LaunchTopK<Policy>(machine, true, layer, all);
  const auto groups = LaunchGroupRows(machine, layer);
  const auto fp8 = [&]<class Format>(Format) {
    LaunchGroupedGemms<Product<Format>>(machine, "gate_up_gemm_fp8", "down_gemm_fp8", layer,
                                        layer.fp8, groups);
  };
  if (PackingOf(PathId::kPrefill, *layer.problem) == Packing::kBf16)
    LaunchGroupedGemms<Product<Bf16Kernel>>(machine, "gate_up_gemm_bf16", "down_gemm_bf16", layer,
                                            layer.bf16, groups);
  else if (layer.problem->codes == CodePolicy::kStandard)
    fp8(typename Policy::Fp8Standard{});
  else
    fp8(typename Policy::Fp8{});
  LaunchTwoBlends<Policy>(machine, layer);
  machine.TokensDone(all);
}

// forward_atomic_c4_decode: down results meet in an FP32 accumulator.
template <class Policy, class Machine>
void RunAtomicC4(Machine& machine, const LayerTensors<Machine::kChecked>& layer) {
  RequireAtomicScratch(*layer.problem, layer.work.atomic_bytes);
  RunRoute<Policy, kAtomicRows>(machine, layer, PathId::kAtomicC4);
  LaunchClearAccumulator(machine, layer);
  LaunchAtomicExperts<typename Policy::Nvfp4, AtomicDownArgs>(machine, layer);
  LaunchAtomicBlend<Policy>(machine, layer);
  LaunchReduction<Policy>(machine, layer, {0, layer.problem->rows, 0});
  machine.TokensDone({0, layer.problem->rows, 0});
}

// A path with a policy, as a program for any machine.
template <class Policy>
struct PathProgram {
  PathId path;

  // Rows of expert scratch: batched uses one token's for all.
  int ScratchRows(const Problem& problem) const {
    return path == PathId::kBatched ? 1 : problem.rows;
  }

  bool Accumulates() const { return path == PathId::kAtomicC4; }
  bool GroupsRows() const { return path == PathId::kFp8Grouped || path == PathId::kPrefill; }

  template <class Machine>
  void Run(Machine& machine, const LayerTensors<Machine::kChecked>& layer) const {
    switch (path) {
      case PathId::kSingle:
        return RunFused<Policy, 1, 16>(machine, layer, path);
      case PathId::kK2:
        return RunFused<Policy, 2, 8>(machine, layer, path);
      case PathId::kK3:
        return RunFused<Policy, 3, 8>(machine, layer, path);
      case PathId::kKn:
        return RunFused<Policy, 4, 8>(machine, layer, path);
      case PathId::kFp8Grouped:
        return RunFp8Grouped<AsBatchedSums, Policy>(machine, layer);
      case PathId::kPrefill:
        return RunPrefill<MmaProduct, Policy>(machine, layer);
      case PathId::kAtomicC4:
        return RunAtomicC4<Policy>(machine, layer);
      default:
        return RunBatched<Policy>(machine, layer);
    }
  }
};

}  // namespace assay
