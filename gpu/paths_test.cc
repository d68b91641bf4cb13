#include "gpu/paths.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "gpu/dispatch/guards.h"
#include "reference/rounding_contract.h"

namespace assay {
namespace {

using Kind = Decision::Kind;

Problem K3(Format format, Layout layout) {
  Problem problem;
  problem.rows = 3;
  problem.format = format;
  problem.layout = layout;
  return problem;
}

template <class Change>
Decision After(PathId path, Problem problem, const Change& change) {
  change(problem);
  return Decide(path, problem);
}

TEST(K3, RunsNvfp4InEveryLayoutButTheLeanOne) {
  for (const Layout layout : {Layout::kRowMajor, Layout::kTransposed, Layout::kHybrid})
    EXPECT_EQ(Decide(PathId::kK3, K3(Format::kNvfp4, layout)).kind, Kind::kRuns);
  const Decision lean = Decide(PathId::kK3, K3(Format::kNvfp4, Layout::kLean));
  EXPECT_EQ(lean.kind, Kind::kRefuses);
  EXPECT_EQ(lean.rule, "lean_layout");
}

TEST(K3, SendsE8m0ExpertsTokenByTokenToBatched) {
  const Problem problem = K3(Format::kMxfp4, Layout::kTransposed);
  EXPECT_TRUE(K3E8m0NeedsPerToken(problem));
  EXPECT_FALSE(K3E8m0NeedsPerToken(K3(Format::kNvfp4, Layout::kTransposed)));
  const Landing landing = Land(PathId::kK3, problem);
  EXPECT_EQ(landing.landed, PathId::kBatched);
  EXPECT_EQ(landing.ToText(), "k3 -> batched (e8m0_needs_per_token)");
  EXPECT_FALSE(landing.Refused());
}

TEST(K3, ChecksItsGuardsInProductionOrder) {
  const Problem base = K3(Format::kNvfp4, Layout::kTransposed);
  const auto rule = [&](auto change) { return After(PathId::kK3, base, change).rule; };
  EXPECT_EQ(rule([](Problem& p) { p.rows = 2; }), "rows");
  EXPECT_EQ(rule([](Problem& p) {
              p.zero_experts = 4;
              p.lora = Lora::kFold;
            }),
            "zero_experts");
  EXPECT_EQ(rule([](Problem& p) {
              p.lora = Lora::kFold;
              p.format = Format::kBf16;
            }),
            "lora_resident");
  EXPECT_EQ(rule([](Problem& p) {
              p.format = Format::kBf16;
              p.shared = Format::kBf16;
            }),
            "bf16_experts");
  EXPECT_EQ(rule([](Problem& p) {
              p.shared = Format::kBf16;
              p.layout = Layout::kRowMajor;
            }),
            "mixed_needs_batch3_t");
  EXPECT_EQ(rule([](Problem& p) { p.shared = Format::kBf16; }), "");
  EXPECT_EQ(rule([](Problem& p) { p.fp32_gate = true; }), "fp32_gate");
  EXPECT_EQ(rule([](Problem& p) { p.router = RouterKind::kHash; }), "router_not_wired");
}

TEST(K3, RefusesAnAdapterMarkedRefuseBeforeAnyFallback) {
  const Problem base = K3(Format::kNvfp4, Layout::kTransposed);
  const Decision decision = After(PathId::kK3, base, [](Problem& p) { p.lora = Lora::kRefuse; });
  EXPECT_EQ(decision.kind, Kind::kRefuses);
  EXPECT_EQ(decision.rule, "lora_refused");
}

TEST(Formats, RefuseADimensionThatIsNoMultipleOfTheirGroup) {
  const Problem base = K3(Format::kNvfp4, Layout::kRowMajor);
  for (const int hidden : {8, 24, 255})
    EXPECT_EQ(After(PathId::kBatched, base, [=](Problem& p) { p.hidden = hidden; }).rule,
              "k_dim_group");
  const Problem mxfp4 = K3(Format::kMxfp4, Layout::kTransposed);
  EXPECT_EQ(After(PathId::kBatched, mxfp4, [](Problem& p) { p.inter = 48; }).rule, "k_dim_group");
  EXPECT_EQ(After(PathId::kBatched, base, [](Problem& p) { p.inter = 48; }).kind, Kind::kRuns);
}

TEST(Formats, NameTheRuleThatRefusesAnotherPacking) {
  for (const Layout layout : {Layout::kRowMajor, Layout::kHybrid, Layout::kLean})
    EXPECT_EQ(Land(PathId::kK3, K3(Format::kMxfp4, layout)).decisions.back().rule,
              "mxfp4_needs_transposed");
}

TEST(SharedExpert, MustFitTheFusedKernels) {
  const Problem base = K3(Format::kMxfp4, Layout::kTransposed);
  const auto rule = [&](auto change) { return After(PathId::kBatched, base, change).rule; };
  EXPECT_EQ(rule([](Problem& p) { p.shared = Format::kNvfp4; }), "");
  EXPECT_EQ(rule([](Problem& p) { p.shared = Format::kMxfp4; }), "e8m0_shared_must_be_nvfp4");
  EXPECT_EQ(rule([](Problem& p) {
              p.shared = Format::kNvfp4;
              p.shared_inter = 256;
            }),
            "shared_inter");
}

TEST(Batched, ServesAnyNumberOfRows) {
  Problem problem = K3(Format::kNvfp4, Layout::kRowMajor);
  for (const int rows : {1, 2, 3, 4, 16, 17, 64}) {
    problem.rows = rows;
    EXPECT_EQ(Decide(PathId::kBatched, problem).kind, Kind::kRuns) << rows;
  }
}

TEST(K2, ServesTwoRowsAndSendsE8m0TokenByToken) {
  Problem problem = K3(Format::kNvfp4, Layout::kTransposed);
  EXPECT_EQ(Decide(PathId::kK2, problem).rule, "rows");
  problem.rows = 2;
  EXPECT_EQ(Decide(PathId::kK2, problem).kind, Kind::kRuns);
  problem.format = Format::kMxfp4;
  EXPECT_EQ(Land(PathId::kK2, problem).ToText(), "k2 -> batched (e8m0_needs_per_token)");
}

TEST(Kn, ServesFourToSixteenRowsOfRowMajorNvfp4) {
  Problem problem = K3(Format::kNvfp4, Layout::kRowMajor);
  for (const int rows : {1, 3, 17, 64})
    EXPECT_EQ(After(PathId::kKn, problem, [=](Problem& p) { p.rows = rows; }).rule, "rows") << rows;
  for (const int rows : {4, 5, 15, 16})
    EXPECT_EQ(After(PathId::kKn, problem, [=](Problem& p) { p.rows = rows; }).kind, Kind::kRuns);
  problem.rows = 4;
  problem.layout = Layout::kTransposed;
  EXPECT_EQ(Land(PathId::kKn, problem).ToText(), "kn -> batched (kn_needs_row_major)");
}

TEST(Bf16, HasABatch2KernelOnOneRankAndFallsBackElsewhere) {
  Problem problem = K3(Format::kBf16, Layout::kRowMajor);
  EXPECT_EQ(Land(PathId::kK3, problem).ToText(), "k3 -> batched (bf16_experts)");
  problem.rows = 2;
  EXPECT_EQ(Decide(PathId::kK2, problem).kind, Kind::kRuns);
  EXPECT_EQ(After(PathId::kK2, problem, [](Problem& p) { p.ep = 2; }).rule,
            "bf16_batch2_needs_one_rank");
}

TEST(Bf16, CarriesAnyDimensionInItsOnePacking) {
  const Problem base = K3(Format::kBf16, Layout::kRowMajor);
  const auto rule = [&](auto change) { return After(PathId::kBatched, base, change).rule; };
  EXPECT_EQ(rule([](Problem& p) {
              p.hidden = 163;
              p.inter = 97;
            }),
            "");
  EXPECT_EQ(rule([](Problem& p) { p.layout = Layout::kTransposed; }), "bf16_is_row_major");
  EXPECT_EQ(rule([](Problem& p) { p.shared = Format::kBf16; }), "");
  EXPECT_EQ(rule([](Problem& p) { p.shared = Format::kNvfp4; }), "shared_format");
}

TEST(Fp8, RunsOnEveryPathButTheLadder) {
  Problem problem = K3(Format::kFp8Block, Layout::kRowMajor);
  problem.hidden = 131;  // any dimension
  problem.shared = Format::kFp8Block;
  EXPECT_EQ(Decide(PathId::kK3, problem).kind, Kind::kRuns);
  EXPECT_EQ(Decide(PathId::kBatched, problem).kind, Kind::kRuns);
  problem.rows = 2;
  EXPECT_EQ(Decide(PathId::kK2, problem).kind, Kind::kRuns);
  problem.rows = 4;
  EXPECT_EQ(Land(PathId::kKn, problem).ToText(), "kn -> batched (kn_needs_nvfp4)");
  const auto rule = [&](auto change) { return After(PathId::kBatched, problem, change).rule; };
  EXPECT_EQ(rule([](Problem& p) { p.layout = Layout::kTransposed; }), "fp8_is_row_major");
  EXPECT_EQ(rule([](Problem& p) { p.shared = Format::kBf16; }), "shared_format");
  EXPECT_EQ(rule([](Problem& p) { p.shared_gate = SharedGate::kNone; }), "");
}

TEST(Fp8Grouped, SendsEveryOtherLayerToTheLoopOverTokensByName) {
  Problem problem = K3(Format::kFp8Block, Layout::kRowMajor);
  EXPECT_EQ(Decide(PathId::kFp8Grouped, problem).kind, Kind::kRuns);
  EXPECT_TRUE(KeepsFallbackBits(PathId::kFp8Grouped));
  const auto rule = [&](auto change) { return After(PathId::kFp8Grouped, problem, change).rule; };
  EXPECT_EQ(rule([](Problem& p) { p.rows = 1; }), "rows");
  EXPECT_EQ(rule([](Problem& p) { p.rows = 64; }), "");
  EXPECT_EQ(rule([](Problem& p) { p.rows = 65; }), "rows");
  EXPECT_EQ(rule([](Problem& p) { p.lora = Lora::kRefuse; }), "lora_refused");
  EXPECT_EQ(rule([](Problem& p) { p.format = Format::kNvfp4; }), "grouped_needs_fp8");
  EXPECT_EQ(rule([](Problem& p) { p.shared = Format::kBf16; }), "grouped_needs_fp8");
  EXPECT_EQ(rule([](Problem& p) { p.router = RouterKind::kSigmoidBias; }), "grouped_needs_softmax");
  EXPECT_EQ(rule([](Problem& p) { p.fp32_gate = true; }), "grouped_needs_bf16_gate");
  EXPECT_EQ(rule([](Problem& p) { p.gate_format = Format::kNvfp4; }), "grouped_needs_bf16_gate");
  EXPECT_EQ(rule([](Problem& p) { p.pre_norm = true; }), "grouped_needs_raw_input");
  EXPECT_EQ(rule([](Problem& p) { p.hidden = 264; }), "grouped_needs_whole_loads");
  EXPECT_EQ(rule([](Problem& p) { p.inter = 132; }), "grouped_needs_whole_loads");
  EXPECT_EQ(rule([](Problem& p) { p.experts = 1025; }), "grouped_experts");
  EXPECT_EQ(rule([](Problem& p) { p.zero_experts = 2; }), "grouped_zero_experts");
  EXPECT_EQ(rule([](Problem& p) { p.lora = Lora::kFold; }), "lora_resident");
  EXPECT_EQ(rule([](Problem& p) { p.ep = 2; }), "grouped_needs_one_rank");
  problem.router = RouterKind::kSigmoidBias;
  EXPECT_EQ(Land(PathId::kFp8Grouped, problem).ToText(),
            "fp8_grouped -> batched (grouped_needs_softmax)");
}

TEST(Mixed, RunsTransposedInTheVerifyPathsAndEveryLayoutInBatched) {
  Problem problem = K3(Format::kNvfp4, Layout::kTransposed);
  problem.shared = Format::kBf16;
  problem.shared_inter = 200;  // its own pass takes any width
  EXPECT_EQ(Decide(PathId::kK3, problem).kind, Kind::kRuns);
  const std::vector<std::string> kernels = ExpectedKernels(PathId::kK3, problem);
  EXPECT_EQ(kernels, (std::vector<std::string>{"gate_gemv_batch3", "topk_softmax_batched",
                                               "gate_up_batch3_t", "silu_down_batch3_t",
                                               "shared_gate_up_bf16", "shared_silu_mul",
                                               "shared_down_bf16", "blend_batch3"}));
  EXPECT_EQ(ContractOf(PathId::kK3, problem).Name(), "production, shared silu_mul");
  problem.layout = Layout::kHybrid;
  EXPECT_EQ(Land(PathId::kK3, problem).ToText(), "k3 -> batched (mixed_needs_batch3_t)");
  problem.layout = Layout::kTransposed;
  problem.ep = 2;
  EXPECT_EQ(Decide(PathId::kK3, problem).rule, "mixed_needs_batch3_t");
}

TEST(Prefill, RunsBf16AndFp8Above64RowsAndHandsTheRestToBatched) {
  Problem problem = K3(Format::kBf16, Layout::kRowMajor);
  EXPECT_EQ(Land(PathId::kPrefill, problem).ToText(), "prefill -> batched (prefill_needs_65_rows)");
  for (const int rows : {65, 1024}) {
    problem.rows = rows;
    EXPECT_EQ(Decide(PathId::kPrefill, problem).kind, Kind::kRuns) << rows;
  }
  const auto rule = [&](auto change) { return After(PathId::kPrefill, problem, change).rule; };
  EXPECT_EQ(rule([](Problem& p) { p.format = Format::kFp8Block; }), "");
  EXPECT_EQ(rule([](Problem& p) { p.format = Format::kNvfp4; }), "prefill_needs_bf16_or_fp8");
  EXPECT_EQ(rule([](Problem& p) { p.lora = Lora::kRefuse; }), "lora_refused");
  EXPECT_EQ(rule([](Problem& p) { p.lora = Lora::kFold; }), "lora_resident");
  EXPECT_EQ(rule([](Problem& p) { p.ep = 2; }), "prefill_needs_one_rank");
}

TEST(Prefill, BlendsTwiceAndSumsOnTensorCores) {
  Problem problem = K3(Format::kFp8Block, Layout::kRowMajor);
  problem.rows = 65;
  problem.shared = Format::kFp8Block;
  EXPECT_EQ(ExpectedKernels(PathId::kPrefill, problem),
            (std::vector<std::string>{"gate_gemm", "topk_softmax_batched", "group_rows",
                                      "gate_up_gemm_fp8", "silu_mul", "silu_mul", "down_gemm_fp8",
                                      "weighted_sum", "batched_blend"}));
  const PathContract contract = ContractOf(PathId::kPrefill, problem);
  EXPECT_EQ(contract.Name(), "prefill");
  EXPECT_EQ(contract.routed.accumulate.block, 16);
  EXPECT_EQ(contract.routed.accumulate.promote, 128);
  EXPECT_GT(RoundingPoints(contract.routed),
            RoundingPoints(ContractOf(PathId::kBatched, problem).routed));
}

TEST(Routers, OfEveryKindRunWhereTheyAreWiredAndFallBackElsewhere) {
  for (int kind = 0; kind < 8; ++kind) {
    Problem problem = K3(Format::kNvfp4, Layout::kRowMajor);
    problem.router = static_cast<RouterKind>(kind);
    problem.top_k = problem.router == RouterKind::kSigmoidTop1 ? 1 : 2;
    EXPECT_EQ(Decide(PathId::kBatched, problem).kind, Kind::kRuns) << kind;
    const bool wired = kind < 2;  // softmax, sigmoid_bias
    EXPECT_EQ(Land(PathId::kK3, problem).ToText(),
              wired ? "k3" : "k3 -> batched (router_not_wired)");
  }
}

TEST(Lora, FoldsPerTokenSkipsAnIdleAdapterAndRefusesAMarkedOne) {
  for (const Lora lora : {Lora::kFold, Lora::kSkip}) {
    Problem problem = K3(Format::kNvfp4, Layout::kRowMajor);
    problem.lora = lora;
    EXPECT_EQ(Land(PathId::kK3, problem).ToText(), "k3 -> batched (lora_resident)");
    const auto kernels = ExpectedKernels(PathId::kBatched, problem);
    EXPECT_EQ(std::count(kernels.begin(), kernels.end(), "lora_gate_up"),
              lora == Lora::kFold ? 3 : 0);
  }
  const Problem base = K3(Format::kNvfp4, Layout::kRowMajor);
  EXPECT_EQ(After(PathId::kBatched, base, [](Problem& p) { p.lora = Lora::kRefuse; }).rule,
            "lora_refused");
}

TEST(Routers, NameTheRuleThatRefusesWhatNoneOfThemDoes) {
  const Problem base = K3(Format::kNvfp4, Layout::kRowMajor);
  const auto rule = [&](auto change) { return After(PathId::kBatched, base, change).rule; };
  EXPECT_EQ(rule([](Problem& p) { p.zero_experts = 4; }), "zero_experts_router");
  EXPECT_EQ(rule([](Problem& p) { p.groups = p.groups_kept = 2; }), "groups_router");
  EXPECT_EQ(rule([](Problem& p) {
              p.router = RouterKind::kGroupedSigmoidBias;
              p.experts = p.groups = p.groups_kept = 64;
            }),
            "groups_limit");
  EXPECT_EQ(rule([](Problem& p) { p.router = RouterKind::kSigmoidTop1; }), "top1_chooses_one");
  EXPECT_EQ(rule([](Problem& p) {
              p.router = RouterKind::kSigmoidBias;
              p.fp32_gate = true;
            }),
            "fp32_gate_softmax");
  EXPECT_EQ(rule([](Problem& p) { p.fp32_gate = true; }), "");
  EXPECT_EQ(rule([](Problem& p) { p.gate_format = Format::kMxfp4; }), "gate_format");
  EXPECT_EQ(rule([](Problem& p) {
              p.router = RouterKind::kSoftmaxBias;
              p.experts = 1000;
              p.zero_experts = 25;
            }),
            "experts_limit");
}

TEST(Paths, TokensParseBackToTheirPath) {
  for (int i = 0; i < kPathCount; ++i)
    EXPECT_EQ(PathFromToken(Token(static_cast<PathId>(i))), static_cast<PathId>(i));
  EXPECT_FALSE(PathFromToken("k5").has_value());
}

TEST(ExpectedKernels, OfK3AreFiveAndOfBatchedFourATokenPlusTheGate) {
  const Problem problem = K3(Format::kNvfp4, Layout::kHybrid);
  EXPECT_EQ(ExpectedKernels(PathId::kK3, problem),
            (std::vector<std::string>{"gate_gemv_batch3", "topk_softmax_batched", "gate_up_batch3",
                                      "silu_down_batch3", "blend_batch3"}));
  const auto batched = ExpectedKernels(PathId::kBatched, problem);
  EXPECT_EQ(batched.size(), 13u);
  EXPECT_EQ(batched[2], "gate_up_t");  // a hybrid layer: batched reads the transposed copy
}

TEST(Guards, EveryRefusalAndFallbackHasANameAndAReason) {
  for (int i = 0; i < kPathCount; ++i)
    for (const Guard& guard : GuardsOf(static_cast<PathId>(i))) {
      EXPECT_FALSE(guard.rule.empty());
      EXPECT_FALSE(guard.why.empty());
      EXPECT_NE(guard.kind, Kind::kRuns);
    }
}

}  // namespace
}  // namespace assay
