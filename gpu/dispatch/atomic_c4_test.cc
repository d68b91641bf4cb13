// Atomic C4 on the host executor: its contract, its scratch, its guards.
#include <gtest/gtest.h>

#include "gpu/dispatch/atomic_scratch.h"
#include "gpu/run/runner.h"
#include "reference/error.h"
#include "reference/expected.h"
#include "reference/rounding_contract.h"

namespace assay {
namespace {

Problem Plain(Layout layout = Layout::kRowMajor, int top_k = 2) {
  Problem p;
  p.rows = 4;
  p.hidden = 160;
  p.inter = 96;
  p.top_k = top_k;
  p.layout = layout;
  p.shared = Format::kNvfp4;
  p.seed = 11;
  return p;
}

double BitsToDouble(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

int CountOutside(const LayerData& layer, const RunRecord& record, const PathContract& contract) {
  const OutputExpected expected =
      LayerReference(layer, contract).Evaluate({record.ids, record.weights, {}});
  int outside = 0;
  for (std::size_t i = 0; i < record.output.size(); ++i)
    outside += !expected.stored[i].Holds(BitsToDouble(record.output[i]));
  return outside;
}

RunRecord RunC4(const LayerData& layer, const RunOptions& options = {}) {
  return MakeRunner(PathId::kAtomicC4, Device::kHost, 2)->Run(layer, options);
}

TEST(AtomicC4, MeetsItsContractWithoutABadAccess) {
  for (const Layout layout : {Layout::kRowMajor, Layout::kHybrid})
    for (const int top_k : {1, 2, 4, 8}) {
      const LayerData layer = BuildLayer(Plain(layout, top_k));
      const RunRecord record = RunC4(layer);
      EXPECT_EQ(CountOutside(layer, record, ContractOf(PathId::kAtomicC4, layer.problem)), 0);
      for (const KindTotals& totals : record.faults) EXPECT_EQ(totals.count, 0);
      EXPECT_TRUE(record.sync_faults.empty());
      EXPECT_TRUE(record.stages.down.empty());  // no row of its own for a slot
    }
}

TEST(AtomicC4, LaunchesWhatItDeclares) {
  const LayerData layer = BuildLayer(Plain());
  std::vector<std::string> names;
  for (const LaunchInfo& launch : RunC4(layer).launches) names.push_back(launch.kernel);
  EXPECT_EQ(names, ExpectedKernels(PathId::kAtomicC4, layer.problem));
}

TEST(AtomicC4, TwoSlotsHaveOneSumInAnyOrder) {
  const LayerData layer = BuildLayer(Plain());
  EXPECT_FALSE(AddsInFreeOrder(PathId::kAtomicC4, layer.problem));
  EXPECT_TRUE(AddsInFreeOrder(PathId::kAtomicC4, Plain(Layout::kRowMajor, 3)));
  const RunRecord first = RunC4(layer);
  for (const Poison poison : {Poison::kOnes, Poison::kZeros, Poison::kRandom})
    for (int repeat = 0; repeat < 3; ++repeat)
      EXPECT_EQ(RunC4(layer, {false, poison}).output, first.output);
}

TEST(AtomicC4, ScratchHoldsIdsThenWeightsThenTheAlignedAccumulator) {
  const Problem p = Plain(Layout::kRowMajor, 10);
  const AtomicScratch at = AtomicScratchOf(p);
  EXPECT_EQ(at.ids, 0);
  EXPECT_EQ(at.weights, 4 * 10 * 4);
  EXPECT_EQ(at.accumulator, 512);  // 320 rounded up
  EXPECT_EQ(at.bytes, 512 + 4 * 160 * 4);
}

TEST(AtomicC4, AScratchThatIsTooSmallIsRefusedWithWhatIsNeededAndThere) {
  const Problem p = Plain(Layout::kRowMajor, 10);
  EXPECT_NO_THROW(RequireAtomicScratch(p, 3072));
  try {
    RequireAtomicScratch(p, 3071);
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "atomic_c4 scratch: need 3072 bytes for top_k=10 hidden=160, have 3071; give the "
                 "path a larger arena");
  }
}

template <class Change>
std::string LandingAfter(const Change& change) {
  Problem p = Plain();
  change(p);
  return Land(PathId::kAtomicC4, p).ToText();
}

TEST(AtomicC4, ChecksItsGuardsInProductionOrder) {
  const auto rule = [](auto change) {
    Problem p = Plain();
    change(p);
    return Decide(PathId::kAtomicC4, p).rule;
  };
  EXPECT_EQ(rule([](Problem&) {}), "");
  EXPECT_EQ(rule([](Problem& p) { p.zero_experts = 2, p.lora = Lora::kFold; }), "zero_experts");
  EXPECT_EQ(rule([](Problem& p) { p.lora = Lora::kFold, p.rows = 3; }), "c4_lora_active");
  EXPECT_EQ(rule([](Problem& p) { p.rows = 3, p.format = Format::kBf16; }), "rows");
  EXPECT_EQ(rule([](Problem& p) { p.format = Format::kBf16, p.shared = Format::kBf16; }),
            "c4_needs_nvfp4");
  EXPECT_EQ(rule([](Problem& p) { p.shared = Format::kBf16, p.layout = Layout::kTransposed; }),
            "c4_mixed");
  EXPECT_EQ(rule([](Problem& p) { p.layout = Layout::kTransposed, p.pre_norm = true; }),
            "c4_needs_row_major");
  EXPECT_EQ(rule([](Problem& p) { p.pre_expert_norm = true, p.shared.reset(); }),
            "pre_expert_norm");
  EXPECT_EQ(rule([](Problem& p) { p.shared.reset(); }), "c4_needs_full_shared");
  EXPECT_EQ(rule([](Problem& p) { p.shared_inter = 32; }), "c4_needs_full_shared");
  EXPECT_EQ(rule([](Problem& p) { p.fp32_gate = true; }), "fp32_gate");
  EXPECT_EQ(rule([](Problem& p) { p.router = RouterKind::kHash; }), "router_not_wired");
  EXPECT_EQ(rule([](Problem& p) { p.layout = Layout::kLean; }), "lean_layout");
}

TEST(AtomicC4, SendsE8m0TablesTokenByToken) {
  EXPECT_EQ(LandingAfter([](Problem& p) { p.format = Format::kMxfp4; }),
            "atomic_c4 -> batched (e8m0_needs_per_token) refused (mxfp4_needs_transposed)");
  EXPECT_EQ(LandingAfter([](Problem& p) {
              p.format = Format::kMxfp4;
              p.layout = Layout::kTransposed;
            }),
            "atomic_c4 -> batched (e8m0_needs_per_token)");
}

TEST(AtomicC4, AnotherNumberOfRowsFallsBack) {
  EXPECT_EQ(LandingAfter([](Problem& p) { p.rows = 5; }), "atomic_c4 -> batched (rows)");
}

}  // namespace
}  // namespace assay
