#include "gpu/dispatch/guards.h"

#include <algorithm>
#include <array>
#include <vector>

#include "gpu/dispatch/atomic_scratch.h"
#include "gpu/dispatch/mixed.h"
#include "gpu/kernels/expert_groups.h"
#include "reference/formats.h"

namespace assay {
namespace {

using P = const Problem&;
constexpr auto kRefuses = Decision::Kind::kRefuses;
constexpr auto kFallsBack = Decision::Kind::kFallsBack;

bool BreaksGroup(P p, Format format) {
  return IsFp4(format) && (p.hidden % GroupSize(format) != 0 || p.inter % GroupSize(format) != 0);
}

bool SharedHasAnotherFormat(P p) {
  return p.format != Format::kMxfp4 && p.shared && *p.shared != p.format && !IsMixed(p);
}

// What no path can carry, whatever its kernels.
const std::vector<Guard> kFormatGuards = {
    {"k_dim_group", kRefuses,
     "FP4 weights need hidden and inter to be multiples of the group (NVFP4 16, MXFP4 32)",
     [](P p) { return BreaksGroup(p, p.format) || (p.shared && BreaksGroup(p, *p.shared)); }},
    {"top_k_limit", kRefuses, "the top-k kernels hold one slot a lane: top_k <= 32",
     [](P p) { return p.top_k > 32; }},
    {"experts_limit", kRefuses,
     "the top-k kernels hold 32 outputs a lane: experts and identity experts <= 1024",
     [](P p) { return p.RouterOutputs() > 1024; }},
    {"mxfp4_needs_transposed", kRefuses, "E8M0 kernels exist for the transposed layout only",
     [](P p) { return p.format == Format::kMxfp4 && p.layout != Layout::kTransposed; }},
    {"e8m0_shared_must_be_nvfp4", kRefuses, "beside E8M0 experts the shared expert is NVFP4",
     [](P p) {
       return p.format == Format::kMxfp4 && p.shared && *p.shared != Format::kNvfp4 &&
              *p.shared != Format::kBf16;
     }},
    {"shared_format", kRefuses, "the fused kernels serve a shared expert of the routed format",
     SharedHasAnotherFormat},
    {"bf16_is_row_major", kRefuses, "BF16 weights have one packing: layout=row_major",
     [](P p) { return p.format == Format::kBf16 && p.layout != Layout::kRowMajor; }},
    {"fp8_is_row_major", kRefuses, "block FP8 weights have one packing: layout=row_major",
     [](P p) { return p.format == Format::kFp8Block && p.layout != Layout::kRowMajor; }},
    {"graph_needs_one_rank", kRefuses,
     "the ranks meet on the host between launches, where a captured step cannot wait: ep=1",
     [](P p) { return p.graph && p.ep > 1; }},
    {"zero_experts_one_rank", kRefuses, "identity experts belong to no rank: ep=1",
     [](P p) { return p.zero_experts > 0 && p.ep > 1; }},
    {"shared_inter", kRefuses, "the fused kernels need the shared expert as wide as a routed one",
     [](P p) { return p.shared && p.SharedInter() != p.inter && !IsMixed(p); }},
};

// Features that this version of gpu/ does not build: refused by name, never ignored.
const std::vector<Guard> kNotBuilt = {
    {"not_built_format", kRefuses, "only NVFP4, MXFP4, block FP8 and BF16 routed experts are built",
     [](P p) {
       return !IsFp4(p.format) && p.format != Format::kFp8Block && p.format != Format::kBf16;
     }},
    {"not_built_activation", kRefuses, "only unclamped SiLU is built",
     [](P p) { return p.activation != Activation::kSilu || p.limit != 0; }},
    {"not_built_expert_bias", kRefuses, "biases of experts are not built",
     [](P p) { return p.expert_bias; }},
};

// What no router of ours does, whatever the path.
const std::vector<Guard> kRouterGuards = {
    {"zero_experts_router", kRefuses, "zero experts need the softmax+bias router",
     [](P p) { return p.zero_experts > 0 && p.router != RouterKind::kSoftmaxBias; }},
    {"groups_router", kRefuses, "groups of experts need the grouped sigmoid+bias router",
     [](P p) { return p.groups > 1 && p.router != RouterKind::kGroupedSigmoidBias; }},
    {"groups_limit", kRefuses, "the top-k kernels rank one group a lane: groups <= 32",
     [](P p) { return p.groups > 32; }},
    {"top1_chooses_one", kRefuses, "the sigmoid_top1 router weighs one expert's input: top_k=1",
     [](P p) { return p.router == RouterKind::kSigmoidTop1 && p.top_k != 1; }},
    {"top1_weighs_raw_input", kRefuses, "the sigmoid_top1 router weighs the layer's input",
     [](P p) { return p.router == RouterKind::kSigmoidTop1 && p.pre_expert_norm; }},
    {"fp32_gate_softmax", kRefuses, "FP32 logits exist for the plain softmax router only",
     [](P p) { return p.fp32_gate && p.router != RouterKind::kSoftmax; }},
    {"lora_needs_one_rank", kRefuses, "a fold needs the results of all experts: ep=1",
     [](P p) { return p.lora != Lora::kOff && p.ep > 1; }},
    {"lora_needs_bf16_logits", kRefuses, "the router delta is folded into BF16 logits",
     [](P p) { return p.lora != Lora::kOff && p.fp32_gate; }},
    {"gate_format", kRefuses, "the gate is BF16, or NVFP4 with hidden a multiple of 16",
     [](P p) {
       return p.gate_format != Format::kBf16 &&
              (p.gate_format != Format::kNvfp4 || p.hidden % GroupSize(Format::kNvfp4) != 0);
     }},
};

const Guard kLean = {"lean_layout", kRefuses,
                     "row-major kernels cannot read a buffer repacked in place",
                     [](P p) { return p.layout == Layout::kLean && IsFp4(p.format); }};

const std::vector<Guard> kSingleOwn = {
    {"rows", kRefuses, "forward serves exactly 1 row", [](P p) { return p.rows != 1; }},
    {"lora_refused", kRefuses, "the batch names an adapter marked Refuse",
     [](P p) { return p.lora == Lora::kRefuse; }},
};

// The fused verify paths after their rows, in production's order.
const std::vector<Guard> kVerify = {
    {"zero_experts", kRefuses, "the batched gate strides by num_experts, not by router_logits_n",
     [](P p) { return p.zero_experts > 0; }},
    {"lora_refused", kRefuses, "the batch names an adapter marked Refuse",
     [](P p) { return p.lora == Lora::kRefuse; }},
    {"lora_resident", kFallsBack, "the fold happens between the fused launches",
     [](P p) { return p.lora != Lora::kOff; }},
    {"mixed_needs_batch3_t", kFallsBack,
     "a BF16 shared expert needs the transposed layout and no expert parallel",
     [](P p) { return IsMixed(p) && (p.layout != Layout::kTransposed || p.ep > 1); }},
    {"e8m0_needs_per_token", kFallsBack,
     "the fused _t kernel reads one scale per 16 columns, E8M0 tables hold one per 32",
     K3E8m0NeedsPerToken},
    {"pre_expert_norm", kRefuses, "the norm before the routed experts exists in single and prefill",
     [](P p) { return p.pre_expert_norm; }},
    {"fp32_gate", kRefuses, "no FP32-gate arm here; the fallback would round logits differently",
     [](P p) { return p.fp32_gate; }},
    {"router_not_wired", kFallsBack, "only softmax and sigmoid+bias are wired in the batched top-k",
     [](P p) { return p.router != RouterKind::kSoftmax && p.router != RouterKind::kSigmoidBias; }},
};

const Guard kBf16FallsBack = {"bf16_experts", kFallsBack,
                              "no BF16 kernel for these rows; the FP8 originals were freed at load",
                              [](P p) { return p.format == Format::kBf16; }};
const Guard kBf16NeedsOneRank = {"bf16_batch2_needs_one_rank", kFallsBack,
                                 "the BF16 batch2 kernel does not serve expert parallel",
                                 [](P p) { return p.format == Format::kBf16 && p.ep > 1; }};
const Guard kTwoRows = {"rows", kRefuses, "forward_k2 serves exactly 2 rows",
                        [](P p) { return p.rows != 2; }};
const Guard kThreeRows = {"rows", kRefuses, "forward_k3 serves exactly 3 rows",
                          [](P p) { return p.rows != 3; }};
const Guard kLadderRows = {"rows", kRefuses, "forward_kn serves 4 to 16 rows",
                           [](P p) { return p.rows < 4 || p.rows > 16; }};
const std::vector<Guard> kLadderKernels = {
    {"kn_needs_row_major", kFallsBack,
     "the ladder of 4 to 16 rows has row-major NVFP4 kernels only",
     [](P p) { return p.format == Format::kNvfp4 && p.layout == Layout::kTransposed; }},
    {"kn_needs_nvfp4", kFallsBack, "the ladder of 4 to 16 rows has no FP8 kernels",
     [](P p) { return p.format == Format::kFp8Block; }}};

const Guard kNoExpertNorm = {"pre_expert_norm", kRefuses,
                             "the norm before the routed experts exists in single and prefill",
                             [](P p) { return p.pre_expert_norm; }};

const std::vector<Guard> kBatchedOwn = {
    kNoExpertNorm,
    {"lora_refused", kRefuses, "the batch names an adapter marked Refuse",
     [](P p) { return p.lora == Lora::kRefuse; }},
};

// forward_atomic_c4_decode: production has no guard against E8M0 tables, which a hybrid layer would
// bring to group-16 kernels.
const std::vector<Guard> kAtomicOwn = {
    {"zero_experts", kRefuses, "the batched gate strides by num_experts, not by router_logits_n",
     [](P p) { return p.zero_experts > 0; }},
    {"lora_refused", kRefuses, "the batch names an adapter marked Refuse",
     [](P p) { return p.lora == Lora::kRefuse; }},
    {"c4_lora_active", kRefuses, "an active decode adapter is an error here, no fold exists",
     [](P p) { return p.lora == Lora::kFold; }},
    {"rows", kFallsBack, "forward_atomic_c4_decode serves exactly 4 rows",
     [](P p) { return p.rows != kAtomicRows; }},
    {"c4_needs_nvfp4", kFallsBack, "no BF16, FP8 or INT4 tables",
     [](P p) { return !IsFp4(p.format); }},
    {"e8m0_needs_per_token", kFallsBack,
     "the token-major kernels read one scale per 16 columns, E8M0 tables hold one per 32",
     K3E8m0NeedsPerToken},
    {"c4_mixed", kFallsBack, "no BF16 shared expert beside NVFP4 ones", IsMixed},
    {"c4_needs_row_major", kFallsBack, "the token-major kernels are row-major",
     [](P p) { return p.layout == Layout::kTransposed; }},
    {"pre_expert_norm", kFallsBack, "no norm between routing and experts",
     [](P p) { return p.pre_expert_norm; }},
    {"c4_needs_full_shared", kFallsBack, "the last kernel adds a whole shared expert",
     [](P p) { return !p.shared || p.SharedInter() != p.inter; }},
    {"fp32_gate", kRefuses, "no FP32-gate arm here; the fallback would round logits differently",
     [](P p) { return p.fp32_gate; }},
    {"router_not_wired", kFallsBack, "only softmax and sigmoid+bias are wired in the batched top-k",
     [](P p) { return p.router != RouterKind::kSoftmax && p.router != RouterKind::kSigmoidBias; }},
};

// fp8_grouped_decode is an optimisation of one kind of layer; all others go token by token.
const std::vector<Guard> kGroupedOwn = {
    kNoExpertNorm,
    {"rows", kRefuses, "fp8_grouped_decode serves 2 to 64 rows",
     [](P p) { return p.rows < 2 || p.rows > kGroupedRows; }},
    {"lora_refused", kRefuses, "the batch names an adapter marked Refuse",
     [](P p) { return p.lora == Lora::kRefuse; }},
    {"grouped_needs_fp8", kFallsBack, "grouped kernels exist for block FP8 experts only",
     [](P p) {
       return p.format != Format::kFp8Block || (p.shared && *p.shared != Format::kFp8Block);
     }},
    {"grouped_needs_softmax", kFallsBack, "rows are grouped behind a plain softmax router only",
     [](P p) { return p.router != RouterKind::kSoftmax || p.router_bias; }},
    {"grouped_needs_bf16_gate", kFallsBack, "the grouped path has a BF16 gate and BF16 logits only",
     [](P p) { return p.fp32_gate || p.gate_format != Format::kBf16; }},
    {"grouped_needs_raw_input", kFallsBack, "the grouped path has no router pre-norm",
     [](P p) { return p.pre_norm; }},
    {"grouped_needs_whole_loads", kFallsBack,
     "the grouped kernels load whole vectors: hidden % 16 == 0, inter % 8 == 0",
     [](P p) { return p.hidden % 16 != 0 || p.inter % 8 != 0; }},
    {"grouped_experts", kFallsBack, "the counting sort holds at most 1024 experts",
     [](P p) { return p.experts > 1024; }},
    {"grouped_zero_experts", kFallsBack, "identity experts have no group",
     [](P p) { return p.zero_experts > 0; }},
    {"lora_resident", kFallsBack, "the fold happens between the fused launches",
     [](P p) { return p.lora != Lora::kOff; }},
    {"grouped_needs_one_rank", kFallsBack, "the grouped path does not serve expert parallel",
     [](P p) { return p.ep > 1; }},
};

// forward_prefill has GEMMs for what prompts are mostly run in; all else goes token by token.
const std::vector<Guard> kPrefillOwn = {
    {"lora_refused", kRefuses, "the batch names an adapter marked Refuse",
     [](P p) { return p.lora == Lora::kRefuse; }},
    {"prefill_needs_65_rows", kFallsBack, "up to 64 rows a grouped GEMM does not pay",
     [](P p) { return p.rows <= kGroupedRows; }},
    {"prefill_needs_bf16_or_fp8", kFallsBack, "grouped GEMMs exist for BF16 and block FP8 experts",
     [](P p) { return p.format != Format::kBf16 && p.format != Format::kFp8Block; }},
    {"lora_resident", kFallsBack, "the fold happens between the GEMMs of a token",
     [](P p) { return p.lora != Lora::kOff; }},
    {"prefill_needs_one_rank", kFallsBack, "the grouped GEMMs do not serve expert parallel",
     [](P p) { return p.ep > 1; }},
};

// Rows, zero experts and LoRA come before BF16, as in production; then the rest.
std::vector<Guard> Verify(const Guard& rows, const Guard& bf16, std::vector<Guard> own = {}) {
  constexpr int kBeforeBf16 = 3;
  std::vector<Guard> guards = {rows};
  guards.insert(guards.end(), kVerify.begin(), kVerify.begin() + kBeforeBf16);
  guards.push_back(bf16);
  guards.insert(guards.end(), kVerify.begin() + kBeforeBf16, kVerify.end());
  guards.insert(guards.end(), own.begin(), own.end());
  return guards;
}

std::vector<Guard> Join(const std::vector<Guard>& own) {
  std::vector<Guard> all = own;
  all.insert(all.end(), kFormatGuards.begin(), kFormatGuards.end());
  all.insert(all.end(), kRouterGuards.begin(), kRouterGuards.end());
  all.push_back(kLean);
  all.insert(all.end(), kNotBuilt.begin(), kNotBuilt.end());
  return all;
}

}  // namespace

bool K3E8m0NeedsPerToken(const Problem& problem) { return problem.format == Format::kMxfp4; }

std::span<const Guard> GuardsOf(PathId path) {
  static const std::array<std::vector<Guard>, kPathCount> guards = {
      Join(kSingleOwn),
      Join(Verify(kTwoRows, kBf16NeedsOneRank)),
      Join(Verify(kThreeRows, kBf16FallsBack)),
      Join(Verify(kLadderRows, kBf16FallsBack, kLadderKernels)),
      Join(kAtomicOwn),
      Join(kBatchedOwn),
      Join(kGroupedOwn),
      Join(kPrefillOwn)};
  return guards[static_cast<int>(path)];
}

const Guard* FirstGuard(PathId path, const Problem& problem) {
  for (const Guard& guard : GuardsOf(path))
    if (guard.applies(problem)) return &guard;
  return nullptr;
}

}  // namespace assay
