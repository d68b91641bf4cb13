// The paths on the host executor against the reference: they meet their contract, touch only what
// they own, launch what they declare, and checked and unchecked builds give the same bits.
#include <gtest/gtest.h>

#include "gpu/run/runner.h"
#include "reference/expected.h"
#include "reference/formats.h"
#include "reference/rounding_contract.h"

namespace assay {
namespace {

struct Setting {
  PathId path;
  Format format;
  Layout layout;
  bool mixed = false;  // a BF16 shared expert beside FP4
};

std::vector<Setting> Settings() {
  std::vector<Setting> all;
  for (const PathId path : {PathId::kSingle, PathId::kK3, PathId::kBatched})
    for (const Layout layout : {Layout::kRowMajor, Layout::kTransposed, Layout::kHybrid})
      all.push_back({path, Format::kNvfp4, layout});
  for (const Layout layout : {Layout::kRowMajor, Layout::kTransposed, Layout::kHybrid})
    all.push_back({PathId::kK2, Format::kNvfp4, layout});
  for (const Layout layout : {Layout::kRowMajor, Layout::kHybrid})
    all.push_back({PathId::kKn, Format::kNvfp4, layout});
  for (const PathId path : {PathId::kSingle, PathId::kK2, PathId::kBatched})
    all.push_back({path, Format::kBf16, Layout::kRowMajor});
  for (const PathId path : {PathId::kSingle, PathId::kBatched})
    all.push_back({path, Format::kMxfp4, Layout::kTransposed});
  for (const PathId path :
       {PathId::kSingle, PathId::kK2, PathId::kK3, PathId::kBatched, PathId::kFp8Grouped})
    all.push_back({path, Format::kFp8Block, Layout::kRowMajor});
  for (const PathId path : {PathId::kSingle, PathId::kK2, PathId::kK3, PathId::kBatched})
    all.push_back({path, Format::kNvfp4, Layout::kTransposed, true});
  all.push_back({PathId::kBatched, Format::kNvfp4, Layout::kRowMajor, true});
  all.push_back({PathId::kBatched, Format::kMxfp4, Layout::kTransposed, true});
  for (const Format format : {Format::kBf16, Format::kFp8Block})
    all.push_back({PathId::kPrefill, format, Layout::kRowMajor});
  return all;
}

Format SharedOf(const Setting& setting) {
  if (setting.mixed) return Format::kBf16;
  return IsFp4(setting.format) ? Format::kNvfp4 : setting.format;
}

int RowsOf(PathId path) {
  switch (path) {
    case PathId::kSingle:
      return 1;
    case PathId::kK2:
      return 2;
    case PathId::kKn:
      return 5;  // more than one step of the router's four rows
    case PathId::kPrefill:
      return 70;  // the shared expert's group takes two passes
    default:
      return 3;
  }
}

Problem ProblemOf(const Setting& setting, RouterKind router, bool shared) {
  Problem problem;
  problem.rows = RowsOf(setting.path);
  problem.format = setting.format;
  problem.layout = setting.layout;
  problem.router = router;
  problem.hidden = 160;
  problem.inter = 96;
  if (setting.format == Format::kBf16) {
    problem.hidden = 163;  // BF16 carries any dimension
    problem.inter = 97;
  }
  if (setting.format == Format::kFp8Block) {
    problem.hidden = setting.path == PathId::kFp8Grouped ? 272 : 275;  // blocks cut at both edges
    problem.inter = 136;
  }
  if (setting.path == PathId::kPrefill) {
    problem.hidden = setting.format == Format::kBf16 ? 83 : 147;
    problem.inter = 45;
  }
  if (shared) problem.shared = SharedOf(setting);
  if (shared && setting.mixed) problem.shared_inter = 75;
  problem.seed = 5;
  return problem;
}

double BitsToDouble(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

int CountOutside(PathId path, const LayerData& layer, const RunRecord& record) {
  const LayerReference reference(layer, ContractOf(path, layer.problem));
  const OutputExpected expected = reference.Evaluate({record.ids, record.weights});
  int outside = 0;
  for (std::size_t i = 0; i < record.output.size(); ++i)
    outside += !expected.stored[i].Holds(BitsToDouble(record.output[i]));
  return outside;
}

std::vector<std::string> Launched(const RunRecord& record) {
  std::vector<std::string> names;
  for (const LaunchInfo& launch : record.launches) names.push_back(launch.kernel);
  return names;
}

template <class Body>
void ForEverySetting(const Body& body) {
  for (const Setting& setting : Settings())
    for (const RouterKind router : {RouterKind::kSoftmax, RouterKind::kSigmoidBias})
      for (const bool shared : {false, true}) {
        if (setting.mixed && !shared) continue;
        if (setting.path == PathId::kFp8Grouped && router != RouterKind::kSoftmax) continue;
        const Problem problem = ProblemOf(setting, router, shared);
        SCOPED_TRACE(std::string(Token(setting.path)) + " layout " +
                     std::to_string(static_cast<int>(setting.layout)) + " format " +
                     std::to_string(static_cast<int>(setting.format)) + (shared ? " shared" : ""));
        const LayerData layer = BuildLayer(problem);
        const auto runner = MakeRunner(setting.path, Device::kHost, 2);
        body(setting, layer, *runner);
      }
}

TEST(HostPaths, MeetTheContractTheyDeclare) {
  ForEverySetting([](const Setting& setting, const LayerData& layer, Runner& runner) {
    const RunRecord record = runner.Run(layer, {});
    ASSERT_EQ(record.output.size(), layer.input.size());
    EXPECT_EQ(CountOutside(setting.path, layer, record), 0);
  });
}

TEST(HostPaths, MakeNoBadAccessAndReadEveryScaleOfTheChosenExperts) {
  ForEverySetting([](const Setting&, const LayerData& layer, Runner& runner) {
    const RunRecord record = runner.Run(layer, {});
    for (const KindTotals& totals : record.faults) EXPECT_EQ(totals.count, 0);
    EXPECT_TRUE(record.sync_faults.empty());
    for (const ScaleReads& reads : record.scale_reads) {
      const bool chosen = reads.expert < 0 || std::find(record.ids.begin(), record.ids.end(),
                                                        reads.expert) != record.ids.end();
      if (reads.read.empty() || layer.problem.layout == Layout::kHybrid) continue;
      EXPECT_EQ(std::count(reads.read.begin(), reads.read.end(), 1),
                chosen ? static_cast<long>(reads.read.size()) : 0)
          << reads.tensor;
    }
  });
}

TEST(HostPaths, LaunchTheKernelsTheyDeclare) {
  ForEverySetting([](const Setting& setting, const LayerData& layer, Runner& runner) {
    EXPECT_EQ(Launched(runner.Run(layer, {})), ExpectedKernels(setting.path, layer.problem));
  });
}

TEST(HostPaths, GiveTheSameBitsCheckedAndUncheckedUnderEveryPoison) {
  ForEverySetting([](const Setting&, const LayerData& layer, Runner& runner) {
    const RunRecord checked = runner.Run(layer, {true, Poison::kOnes});
    for (const Poison poison : {Poison::kOnes, Poison::kZeros, Poison::kRandom}) {
      const RunRecord other = runner.Run(layer, {false, poison});
      EXPECT_EQ(other.output, checked.output);
      EXPECT_EQ(other.ids, checked.ids);
      EXPECT_EQ(other.weights, checked.weights);
    }
  });
}

TEST(Fp8Grouped, GivesTheBitsOfTheLoopOverTokens) {
  for (const int rows : {2, 5, 17})
    for (const CodePolicy codes : {CodePolicy::kProduction, CodePolicy::kStandard}) {
      Problem problem = ProblemOf({PathId::kFp8Grouped, Format::kFp8Block, Layout::kRowMajor},
                                  RouterKind::kSoftmax, rows != 5);
      problem.rows = rows;
      problem.experts = rows == 17 ? 3 : 40;  // more rows of an expert than one pass takes
      problem.codes = codes;
      problem.seed = static_cast<std::uint64_t>(rows);
      const LayerData layer = BuildLayer(problem);
      const RunRecord grouped = MakeRunner(PathId::kFp8Grouped, Device::kHost, 2)->Run(layer, {});
      const RunRecord loop = MakeRunner(PathId::kBatched, Device::kHost, 2)->Run(layer, {});
      EXPECT_EQ(grouped.ids, loop.ids);
      EXPECT_EQ(grouped.output, loop.output);
      EXPECT_EQ(grouped.stages.gate, loop.stages.gate);
      EXPECT_EQ(grouped.stages.down, loop.stages.down);
    }
}

// The guard removed: what production's headline fault does to group-32 tables.
TEST(K3WithoutItsGuard, ReadsPastTheE8m0ScalesAndForForeignGroups) {
  Problem problem =
      ProblemOf({PathId::kK3, Format::kMxfp4, Layout::kTransposed}, RouterKind::kSoftmax, false);
  const LayerData layer = BuildLayer(problem);
  const RunRecord record = MakeRunner(PathId::kK3, Device::kHost, 1)->Run(layer, {});
  const KindTotals& outside = record.faults[static_cast<int>(AccessKind::kReadOutside)];
  EXPECT_GT(outside.count, 0);
  EXPECT_EQ(outside.first.byte, outside.first.extent);  // the first byte past the end
  EXPECT_GT(record.faults[static_cast<int>(AccessKind::kWrongOwner)].count, 0);
}

}  // namespace
}  // namespace assay
