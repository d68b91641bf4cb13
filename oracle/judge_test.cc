#include "oracle/judge.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "oracle/checks.h"
#include "oracle/run_shape.h"
#include "oracle/scripted_case.h"

namespace assay {
namespace {

// A real layer with its production runners; `tamper` changes what the path under judgement returns.
struct JudgeCase {
  using Tamper = std::function<void(RunRecord&, const RunOptions&)>;

  Problem problem;
  PathId path = PathId::kK3;
  Device device = Device::kHost;

  JudgeCase() {
    problem.rows = 3;
    problem.hidden = 64;
    problem.inter = 32;
    problem.experts = 8;
    problem.top_k = 2;
    problem.format = Format::kNvfp4;
    problem.layout = Layout::kTransposed;
    problem.seed = 7;
  }

  Verdict Judge(const Tamper& tamper = {}, Checks level = Checks::kStandard) {
    const LayerData layer = BuildLayer(problem);
    const Landing landing = Land(path, problem);
    const auto real = MakeRunner(landing.landed, Device::kHost, 1);
    const auto fallback = MakeRunner(PathId::kBatched, Device::kHost, 1);
    ScriptedRunner scripted(
        [&](const LayerData& data, const RunOptions& options) {
          RunRecord run = real->Run(data, options);
          if (tamper) tamper(run, options);
          return run;
        },
        device);
    const bool fused = landing.landed != PathId::kBatched;
    const Candidates candidates{&scripted, fused ? fallback.get() : nullptr,
                                device == Device::kCuda ? real.get() : nullptr};
    Verdict verdict = assay::Judge(layer, landing, candidates, level);
    runs = scripted.runs;
    return verdict;
  }

  int runs = 0;
};

std::set<std::string> ChecksOf(const Verdict& verdict) {
  std::set<std::string> checks;
  for (const Finding& finding : verdict.findings) checks.insert(finding.check);
  return checks;
}

const Finding* Find(const Verdict& verdict, const std::string& check) {
  for (const Finding& finding : verdict.findings)
    if (finding.check == check) return &finding;
  return nullptr;
}

TEST(Judge, PassesTheFusedPathAndSaysWhatItCompared) {
  JudgeCase c;
  const Verdict verdict = c.Judge();
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << verdict.reason;
  EXPECT_TRUE(verdict.findings.empty());
  EXPECT_TRUE(verdict.notes.empty());
  EXPECT_EQ(verdict.work.elements, 3 * 64);
  EXPECT_EQ(verdict.work.launches, 5);
  EXPECT_GE(verdict.work.experts, 2);
  // gate and up: 32 rows of 4 groups, down: 64 rows of 2; every built expert that was chosen.
  EXPECT_GE(verdict.work.scale_bytes, verdict.work.experts * 3 * 128);
  EXPECT_GT(verdict.work.powerful, 0.5);
  EXPECT_GT(verdict.worst_margin, 0);
  EXPECT_LE(verdict.worst_margin, 1);
  EXPECT_EQ(verdict.contract, "production");
  EXPECT_EQ(verdict.kernels.size(), 5u);
  EXPECT_EQ(verdict.landing.landed, PathId::kK3);
  EXPECT_EQ(c.runs, 3);
  for (const char* stage : {"path_runs", "reference", "fallback_run", "judge"})
    EXPECT_TRUE(verdict.seconds.contains(stage)) << stage;
}

TEST(Judge, CountsTheKernelsOfTheLandedPathAfterAFallback) {
  JudgeCase c;
  c.problem.format = Format::kMxfp4;
  const Verdict verdict = c.Judge();
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << verdict.reason;
  EXPECT_EQ(verdict.landing.asked, PathId::kK3);
  EXPECT_EQ(verdict.landing.landed, PathId::kBatched);
  EXPECT_EQ(verdict.work.launches, 1 + 3 * 4);
  EXPECT_EQ(verdict.kernels.size(), 5u);  // repeats folded
}

TEST(Judge, RunsThePathOnceAtTheFastLevel) {
  JudgeCase c;
  const Verdict verdict = c.Judge({}, Checks::kFast);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed);
  EXPECT_EQ(c.runs, 1);
  EXPECT_EQ(verdict.work.scale_bytes, 0);  // no claim about ownership
}

TEST(Judge, KeepsTheShippedBuildFromRunningAfterAMemoryFault) {
  JudgeCase c;
  const Verdict verdict = c.Judge([](RunRecord& run, const RunOptions&) {
    auto& totals = run.faults[static_cast<int>(AccessKind::kReadOutside)];
    totals.count = 1;
    totals.first.tensor = "gate_t[0].scale";
  });
  EXPECT_EQ(verdict.outcome, Outcome::kFailed);
  EXPECT_EQ(ChecksOf(verdict), std::set<std::string>{"memory"});
  EXPECT_EQ(c.runs, 1);
  EXPECT_EQ(verdict.notes.size(), 2u);  // fused, and repeat and poison
}

TEST(Judge, FindsAnOutputPastItsBoundAndTheStage) {
  JudgeCase c;
  const Verdict verdict =
      c.Judge([](RunRecord& run, const RunOptions&) { run.output[70] ^= 0x8000; });
  EXPECT_EQ(verdict.outcome, Outcome::kFailed);
  const Finding* numeric = Find(verdict, "numeric");
  ASSERT_NE(numeric, nullptr);
  EXPECT_EQ(EvidenceOf(*numeric, "first"), "token 1, column 6");
  EXPECT_EQ(EvidenceOf(*numeric, "stage"), "blend");
  EXPECT_EQ(numeric->kernel, "blend_batch3");
  EXPECT_EQ(numeric->path, "k3");
  EXPECT_GT(verdict.worst_margin, 1);
}

TEST(Judge, ReportsAnUnwrittenTokenAsThatOnly) {
  JudgeCase c;
  const Verdict verdict = c.Judge([](RunRecord& run, const RunOptions&) {
    std::fill(run.output.begin() + 64, run.output.begin() + 128, 0xFFFF);
  });
  EXPECT_EQ(ChecksOf(verdict), std::set<std::string>{"unwritten"});
  EXPECT_EQ(verdict.work.elements, 2 * 64);
}

TEST(Judge, DoesNotJudgeNumbersOfAnExpertThatTheLayerLacks) {
  JudgeCase c;
  const Verdict verdict = c.Judge([](RunRecord& run, const RunOptions&) { run.ids[0] = 99; });
  EXPECT_EQ(verdict.outcome, Outcome::kFailed);
  EXPECT_EQ(Find(verdict, "routing")->error_class, "illegal_id");
  EXPECT_EQ(Find(verdict, "numeric"), nullptr);
  EXPECT_EQ(verdict.work.elements, 0);
  EXPECT_EQ(c.runs, 1);
}

TEST(Judge, FindsUndeclaredKernels) {
  JudgeCase c;
  const Verdict verdict =
      c.Judge([](RunRecord& run, const RunOptions&) { run.launches[2].kernel = "other"; });
  EXPECT_EQ(ChecksOf(verdict), std::set<std::string>{"launches"});
}

TEST(Judge, FindsAScaleThatWasNeverRead) {
  JudgeCase c;
  const Verdict verdict = c.Judge([](RunRecord& run, const RunOptions&) {
    for (ScaleReads& reads : run.scale_reads)
      if (std::count(run.ids.begin(), run.ids.end(), reads.expert) > 0) reads.read.back() = 0;
  });
  EXPECT_EQ(ChecksOf(verdict), std::set<std::string>{"ownership"});
  EXPECT_EQ(Find(verdict, "ownership")->error_class, "scale_never_read");
}

TEST(Judge, FindsPoisonAndNoiseInTheRunsThatFollow) {
  JudgeCase c;
  const Verdict poisoned = c.Judge([](RunRecord& run, const RunOptions& options) {
    if (options.poison == Poison::kRandom) run.output[0] ^= 1;
  });
  EXPECT_EQ(ChecksOf(poisoned), std::set<std::string>{"poison"});
  const Verdict differs = c.Judge([](RunRecord& run, const RunOptions& options) {
    if (!options.checked) run.output[0] ^= 1;
  });
  EXPECT_EQ(ChecksOf(differs), std::set<std::string>{"repeat"});
}

TEST(Judge, CallsAZeroLayerVacuousNotPassed) {
  JudgeCase c;
  c.problem.data = DataDraw::kZero;
  const Verdict verdict = c.Judge();
  EXPECT_EQ(verdict.outcome, Outcome::kVacuous);
  EXPECT_EQ(verdict.reason, "the contract admits an output of zeros");
  const Verdict failed = c.Judge([](RunRecord& run, const RunOptions&) { run.output[0] = 0x3F80; });
  EXPECT_EQ(failed.outcome, Outcome::kFailed);
}

TEST(Judge, ComparesAGpuRunWithItsReplayBitForBit) {
  JudgeCase c;
  c.device = Device::kCuda;  // the scripted runner says so; the numbers are the host's
  EXPECT_EQ(c.Judge().outcome, Outcome::kPassed);
  const Verdict verdict = c.Judge([](RunRecord& run, const RunOptions&) {
    if (!run.stages.gate.empty()) run.stages.gate[0] ^= 1;  // an unchecked run shows no stages
    run.has_ledger = false;  // a GPU keeps none: the replay's is judged
  });
  const Finding* bits = Find(verdict, "host_bits");
  ASSERT_NE(bits, nullptr);
  EXPECT_EQ(EvidenceOf(*bits, "tensor"), "gate");
  EXPECT_GT(verdict.work.scale_bytes, 0);
}

TEST(Judge, TakesAnotherExtentForAFaultOfTheHarness) {
  JudgeCase c;
  EXPECT_THROW(c.Judge([](RunRecord& run, const RunOptions&) { run.output.pop_back(); }),
               std::logic_error);
}

TEST(OutputHash, IsFnv1aOverTheBytesInLittleEndianOrder) {
  RunRecord run;
  EXPECT_EQ(OutputHash(run), 0xcbf29ce484222325u);
  run.output = {0x6F66, 0x626F, 0x7261};            // "foobar"
  EXPECT_EQ(OutputHash(run), 0x85944171f73967e8u);  // the published test vector
}

TEST(Work, AddsUpAndWeighsPowerByElements) {
  Work sum{100, 1, 10, 5, 1.0};
  sum += Work{300, 2, 20, 5, 0.5};
  EXPECT_EQ(sum.elements, 400);
  EXPECT_EQ(sum.scale_bytes, 30);
  EXPECT_EQ(sum.powerful, 0.625);
}

TEST(AllChecks, NamesEachCheckOnce) {
  std::set<std::string> names;
  for (const CheckInfo& check : AllChecks()) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_FALSE(check.proves.empty());
    EXPECT_FALSE(check.cannot_see.empty());
  }
  EXPECT_EQ(names, (std::set<std::string>{"memory", "launches", "unwritten", "ranks", "ownership",
                                          "routing", "numeric", "power", "fused", "graph", "repeat",
                                          "poison", "host_bits"}));
}

RC_GTEST_PROP(Judge, PassesEveryProductionPathOnSmallLayers, ()) {
  JudgeCase c;
  Problem& p = c.problem;
  c.path = *rc::gen::element(PathId::kSingle, PathId::kK3, PathId::kBatched);
  p.rows = c.path == PathId::kSingle ? 1 : c.path == PathId::kK3 ? 3 : *rc::gen::inRange(1, 4);
  p.format = *rc::gen::element(Format::kNvfp4, Format::kMxfp4);
  if (p.format == Format::kNvfp4)
    p.layout = *rc::gen::element(Layout::kRowMajor, Layout::kTransposed, Layout::kHybrid);
  p.hidden = 32 * *rc::gen::inRange(1, 4);
  p.inter = 32 * *rc::gen::inRange(1, 4);
  p.top_k = *rc::gen::inRange(1, 4);
  p.router = *rc::gen::element(RouterKind::kSoftmax, RouterKind::kSigmoidBias);
  if (*rc::gen::arbitrary<bool>()) p.shared = Format::kNvfp4;
  p.seed = *rc::gen::arbitrary<std::uint32_t>();
  const Verdict verdict = c.Judge();
  for (const Finding& finding : verdict.findings) RC_FAIL(finding.check + ": " + finding.summary);
  RC_ASSERT(verdict.notes.empty());
  RC_ASSERT(verdict.worst_margin <= 1);
}

}  // namespace
}  // namespace assay
