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

// "_batch3" and so on for the verify paths, empty for the others. C4 has expert kernels of its own
// names.
std::string BatchSuffix(PathId path) {
  switch (path) {
    case PathId::kK2:
      return "_batch2";
    case PathId::kK3:
      return "_batch3";
    case PathId::kKn:
      return "_batchn";
    case PathId::kAtomicC4:
      return "_batch4";
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

// By RouterKind.
constexpr std::array<std::string_view, 8> kTopK = {
    "topk_softmax", "topk_sigmoid_bias",         "topk_sqrtsoftplus_bias", "topk_softmax_bias",
    "topk_hash",    "topk_grouped_sigmoid_bias", "topk_then_softmax",      "topk_sigmoid_top1"};

void Append(std::vector<std::string>& to, const std::vector<std::string>& names) {
  to.insert(to.end(), names.begin(), names.end());
}

std::vector<std::string> RouterKernels(PathId path, const Problem& problem) {
  const bool gemv = !BatchSuffix(path).empty() || path == PathId::kSingle;
  std::vector<std::string> kernels;
  if (problem.pre_norm) kernels.push_back("pre_norm");
  kernels.push_back(gemv ? "gate_gemv" + BatchSuffix(path) : "gate_gemm");
  if (problem.lora == Lora::kFold) kernels.push_back("lora_router");
  return kernels;
}

std::vector<std::string> SelectionKernels(const Problem& problem, bool batched) {
  std::vector<std::string> kernels = {std::string(kTopK[static_cast<int>(problem.router)]) +
                                      (batched ? "_batched" : "")};
  if (problem.router == RouterKind::kSigmoidTop1) kernels.push_back("weigh_input");
  if (problem.pre_expert_norm) kernels.push_back("pre_expert_norm");
  return kernels;
}

// Under expert parallel the shared expert joins after the all-reduce.
void AddReduction(const Problem& problem, std::vector<std::string>& kernels) {
  if (problem.ep == 1) return;
  kernels.push_back("all_reduce");
  if (problem.shared) kernels.push_back(problem.HasSharedGate() ? "batched_blend" : "residual_add");
}

// From the selection to the output, once a step or once a token.
std::vector<std::string> TokenKernels(PathId path, const Problem& problem) {
  const std::string batch = BatchSuffix(path), suffix = ExpertSuffix(path, problem);
  const bool fold = problem.lora == Lora::kFold;
  std::vector<std::string> kernels = SelectionKernels(problem, !batch.empty());
  kernels.push_back("gate_up" + suffix);
  if (fold) kernels.push_back("lora_gate_up");
  kernels.push_back("silu_down" + suffix);
  if (fold) kernels.push_back("lora_down");
  if (IsMixed(problem))
    kernels.insert(kernels.end(), {"shared_gate_up_bf16", "shared_silu_mul", "shared_down_bf16"});
  kernels.push_back("blend" + batch);
  AddReduction(problem, kernels);
  if (problem.zero_experts > 0) kernels.push_back("add_identity");
  return kernels;
}

std::vector<std::string> GroupedFp8Names(const Problem& problem) {
  std::vector<std::string> names = RouterKernels(PathId::kFp8Grouped, problem);
  Append(names, SelectionKernels(problem, true));
  Append(names, {"group_rows", "gate_up_grouped_fp8", "silu_grouped", "down_grouped_fp8", "blend"});
  return names;
}

std::vector<std::string> PrefillNames(const Problem& problem) {
  const std::string format = problem.format == Format::kBf16 ? "bf16" : "fp8";
  std::vector<std::string> names = RouterKernels(PathId::kPrefill, problem);
  Append(names, SelectionKernels(problem, true));
  Append(names, {"group_rows", "gate_up_gemm_" + format, "silu_mul"});
  if (problem.shared) names.push_back("silu_mul");
  Append(names, {"down_gemm_" + format, "weighted_sum"});
  if (problem.shared) names.push_back("batched_blend");
  if (problem.zero_experts > 0) names.push_back("add_identity");
  return names;
}

// Tensor cores; FP8 sums blocks of 128 columns apart, each times its scale.
PathContract PrefillContract(const Problem& problem) {
  Contract contract = ContractNamed("silu_mul");
  contract.name = "prefill";
  contract.blend = Blend::kTwoRoundings;
  contract.accumulate = kHopperBf16;
  contract.identity_apart = problem.zero_experts > 0;
  if (problem.format != Format::kFp8Block) return contract;
  contract.accumulate.order = Accumulation::kAnyOrder;
  contract.accumulate.promote = GroupSize(problem.format);
  return contract;
}

std::vector<std::string> AtomicNames(const Problem& problem) {
  std::vector<std::string> names = RouterKernels(PathId::kAtomicC4, problem);
  Append(names, SelectionKernels(problem, true));
  Append(names, {"clear_accumulator", "gate_up_token_major", "silu_down_atomic", "blend_atomic"});
  AddReduction(problem, names);
  return names;
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
  std::vector<std::string> kernels = RouterKernels(landed, problem);
  const std::vector<std::string> token = TokenKernels(landed, problem);
  const int steps = landed == PathId::kBatched ? problem.rows : 1;
  for (int step = 0; step < steps; ++step)
    kernels.insert(kernels.end(), token.begin(), token.end());
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
  contract.identity_apart = problem.zero_experts > 0;
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
