#include "gpu/paths.h"

#include <algorithm>
#include <array>

#include "gpu/dispatch/guards.h"
#include "gpu/dispatch/mixed.h"
#include "reference/rounding_contract.h"

namespace assay {
namespace {

constexpr std::array<std::string_view, kPathCount> kTokens = {
    "single", "k2", "k3", "kn", "atomic_c4", "batched", "fp8_grouped", "prefill"};

// "_batch3" and so on for the verify paths, empty for the others.
std::string BatchSuffix(PathId path) {
  switch (path) {
    case PathId::kK2:
      return "_batch2";
    case PathId::kK3:
      return "_batch3";
    case PathId::kKn:
      return "_batchn";
    default:
      return "";
  }
}

std::string ExpertSuffix(PathId path, const Problem& problem) {
  if (problem.format == Format::kMxfp4) return "_t_e8m0";
  if (problem.format == Format::kBf16) return BatchSuffix(path) + "_bf16";
  if (problem.format == Format::kFp8Block) return BatchSuffix(path) + "_fp8";
  const bool transposed = problem.layout == Layout::kTransposed ||
                          (problem.layout == Layout::kHybrid && path == PathId::kBatched);
  return BatchSuffix(path) + (transposed ? "_t" : "");
}

std::string TopKName(const Problem& problem, bool batched) {
  const std::string kind =
      problem.router == RouterKind::kSoftmax ? "topk_softmax" : "topk_sigmoid_bias";
  return kind + (batched ? "_batched" : "");
}

struct KernelNames {
  std::string router, topk, gate_up, silu_down, blend;
};

KernelNames NamesOf(PathId path, const Problem& problem) {
  const std::string batch = BatchSuffix(path), suffix = ExpertSuffix(path, problem);
  return {path == PathId::kBatched ? "gate_gemm" : "gate_gemv" + batch,
          TopKName(problem, !batch.empty()), "gate_up" + suffix, "silu_down" + suffix,
          "blend" + batch};
}

std::vector<std::string> GroupedFp8Names(const Problem& problem) {
  return {"gate_gemm",    TopKName(problem, true), "group_rows", "gate_up_grouped_fp8",
          "silu_grouped", "down_grouped_fp8",      "blend"};
}

std::vector<std::string> PrefillNames(const Problem& problem) {
  const std::string format = problem.format == Format::kBf16 ? "bf16" : "fp8";
  std::vector<std::string> names = {"gate_gemm", TopKName(problem, true), "group_rows",
                                    "gate_up_gemm_" + format, "silu_mul"};
  if (problem.shared) names.push_back("silu_mul");
  names.insert(names.end(), {"down_gemm_" + format, "weighted_sum"});
  if (problem.shared) names.push_back("batched_blend");
  return names;
}

// Tensor cores; FP8 sums blocks of 128 columns apart, each times its scale.
PathContract PrefillContract(const Problem& problem) {
  Contract contract = ContractNamed("silu_mul");
  contract.name = "prefill";
  contract.blend = Blend::kTwoRoundings;
  contract.accumulate = kHopperBf16;
  if (problem.format != Format::kFp8Block) return contract;
  contract.accumulate.order = Accumulation::kAnyOrder;
  contract.accumulate.promote = GroupSize(problem.format);
  return contract;
}

// Under expert parallel the shared expert joins after the all-reduce.
void AddReduction(const Problem& problem, std::vector<std::string>& kernels) {
  if (problem.ep == 1) return;
  kernels.push_back("all_reduce");
  if (problem.shared) kernels.push_back(problem.HasSharedGate() ? "batched_blend" : "residual_add");
}

void AddStep(const KernelNames& names, const Problem& problem, std::vector<std::string>& kernels) {
  kernels.insert(kernels.end(), {names.topk, names.gate_up, names.silu_down});
  if (IsMixed(problem))
    kernels.insert(kernels.end(), {"shared_gate_up_bf16", "shared_silu_mul", "shared_down_bf16"});
  kernels.push_back(names.blend);
  AddReduction(problem, kernels);
}

std::vector<std::string> AtomicNames(const Problem& problem) {
  std::vector<std::string> kernels = {"gate_gemv_batch4",  TopKName(problem, true),
                                      "clear_accumulator", "gate_up_token_major",
                                      "silu_down_atomic",  "blend_atomic"};
  AddReduction(problem, kernels);
  return kernels;
}

}  // namespace

std::string_view Token(PathId path) { return kTokens[static_cast<int>(path)]; }

std::optional<PathId> PathFromToken(std::string_view token) {
  const auto at = std::find(kTokens.begin(), kTokens.end(), token);
  if (at == kTokens.end()) return std::nullopt;
  return static_cast<PathId>(at - kTokens.begin());
}

Decision Decide(PathId path, const Problem& problem) {
  const Guard* guard = FirstGuard(path, problem);
  if (guard == nullptr) return {};
  return {guard->kind, PathId::kBatched, std::string(guard->rule)};
}

Landing Land(PathId path, const Problem& problem) {
  Landing landing{path, path, {}};
  while (true) {
    landing.decisions.push_back(Decide(landing.landed, problem));
    if (landing.decisions.back().kind != Decision::Kind::kFallsBack) return landing;
    landing.landed = landing.decisions.back().to;
  }
}

std::string Landing::ToText() const {
  std::string text(Token(asked));
  for (const Decision& decision : decisions) {
    if (decision.kind == Decision::Kind::kFallsBack)
      text += " -> " + std::string(Token(decision.to)) + " (" + decision.rule + ")";
    if (decision.kind == Decision::Kind::kRefuses) text += " refused (" + decision.rule + ")";
  }
  return text;
}

std::vector<std::string> ExpectedKernels(PathId landed, const Problem& problem) {
  if (landed == PathId::kFp8Grouped) return GroupedFp8Names(problem);
  if (landed == PathId::kPrefill) return PrefillNames(problem);
  if (landed == PathId::kAtomicC4) return AtomicNames(problem);
  const KernelNames names = NamesOf(landed, problem);
  std::vector<std::string> kernels = {names.router};
  const int steps = landed == PathId::kBatched ? problem.rows : 1;
  for (int step = 0; step < steps; ++step) AddStep(names, problem, kernels);
  return kernels;
}

bool KeepsFallbackBits(PathId landed) { return landed == PathId::kFp8Grouped; }

// An FP32 sum of two terms and a zero has one result in any order.
bool AddsInFreeOrder(PathId landed, const Problem& problem) {
  return landed == PathId::kAtomicC4 && problem.top_k > 2;
}

PathContract ContractOf(PathId landed, const Problem& problem) {
  if (landed == PathId::kPrefill) return PrefillContract(problem);
  Contract contract = ContractNamed("production");
  contract.accumulate.order = Accumulation::kChainOrLanes;
  if (landed == PathId::kAtomicC4) {
    Contract routed = ContractNamed("atomic_c4");
    routed.accumulate.order = Accumulation::kChainOrLanes;
    return {routed, contract};
  }
  if (!IsMixed(problem)) return contract;
  Contract shared = ContractNamed("silu_mul");
  shared.accumulate.order = Accumulation::kChainOrLanes;
  return {contract, shared};
}

}  // namespace assay
