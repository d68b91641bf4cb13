#include "fuzz/run_case.h"

#include <gtest/gtest.h>

#include "gpu/run/device_fault.h"

namespace assay {
namespace {

Verdict VerdictOf(const std::string& line, const RunCaseOptions& options = {}) {
  return RunCase(ParseCase(line), options);
}

// A runner that launches the production path and then damages what it left.
class Damaged : public Runner {
 public:
  Damaged(std::unique_ptr<Runner> inner, std::function<void(RunRecord&)> damage)
      : inner_(std::move(inner)), damage_(std::move(damage)) {}
  RunRecord Run(const LayerData& layer, const RunOptions& options) override {
    RunRecord record = inner_->Run(layer, options);
    damage_(record);
    return record;
  }
  Device device() const override { return inner_->device(); }

 private:
  std::unique_ptr<Runner> inner_;
  std::function<void(RunRecord&)> damage_;
};

RunCaseOptions WithDamage(const std::function<void(RunRecord&)>& damage) {
  RunCaseOptions options;
  options.factory = [damage](PathId path, const Problem&, Device device, int threads) {
    return std::make_unique<Damaged>(MakeRunner(path, device, threads), damage);
  };
  return options;
}

constexpr char kK3[] = "path=k3 format=nvfp4 layout=transposed rows=3 hidden=128 inter=64";

TEST(RunCase, PassesOnTheProductionPath) {
  const Verdict verdict = VerdictOf(kK3);
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << verdict.reason;
  EXPECT_EQ(verdict.landing.landed, PathId::kK3);
  EXPECT_FALSE(verdict.kernels.empty());
  EXPECT_GT(verdict.work.elements, 0);
  EXPECT_GT(verdict.seconds.at("build"), 0);
}

TEST(RunCase, AKernelThatStopsTheGpuIsAFindingNotASkip) {
  const Verdict verdict =
      VerdictOf(kK3, WithDamage([](RunRecord&) {
                  throw DeviceFault("CUDA: unspecified launch failure in gate_up", "gate_up");
                }));
  EXPECT_EQ(verdict.outcome, Outcome::kFailed);
  ASSERT_EQ(verdict.findings.size(), 1u);
  EXPECT_EQ(verdict.findings[0].check, "memory");
  EXPECT_EQ(verdict.findings[0].kernel, "gate_up");
  EXPECT_EQ(verdict.findings[0].case_line, ToLine(ParseCase(kK3)));
}

TEST(RunCase, SaysWhereAFallbackLanded) {
  const Verdict verdict =
      VerdictOf("path=k3 format=mxfp4 layout=transposed rows=3 hidden=128 inter=64");
  EXPECT_EQ(verdict.outcome, Outcome::kPassed) << verdict.reason;
  EXPECT_EQ(verdict.landing.landed, PathId::kBatched);
}

TEST(RunCase, NamesTheRuleOfARefusal) {
  const Verdict verdict = VerdictOf("path=k3 format=nvfp4 layout=transposed rows=4");
  EXPECT_EQ(verdict.outcome, Outcome::kRefused);
  EXPECT_EQ(verdict.reason, "rows");
  EXPECT_TRUE(verdict.kernels.empty());
}

TEST(RunCase, SkipsWhatTheReferenceCannotBuildWithItsName) {
  const Verdict verdict = VerdictOf(std::string(kK3) + " routing=zipf logits=ties");
  EXPECT_EQ(verdict.outcome, Outcome::kSkipped);
  EXPECT_EQ(verdict.reason.rfind("not built yet: ", 0), 0u) << verdict.reason;
  EXPECT_NE(verdict.reason.find("routing=zipf"), std::string::npos);
}

TEST(RunCase, SkipsADeviceThatCannotRun) {
  if (!DeviceProblem(Device::kCuda)) GTEST_SKIP() << "this machine has a GPU";
  const Verdict verdict = VerdictOf(std::string(kK3) + " device=cuda");
  EXPECT_EQ(verdict.outcome, Outcome::kSkipped);
  EXPECT_FALSE(verdict.reason.empty());
}

TEST(RunCase, SkipsALayerThatWouldFillTheMemory) {
  const Verdict verdict =
      VerdictOf("path=batched format=nvfp4 layout=transposed rows=64 hidden=131072 inter=131072");
  EXPECT_EQ(verdict.outcome, Outcome::kSkipped);
  EXPECT_EQ(verdict.reason.rfind("too large: ", 0), 0u) << verdict.reason;
}

TEST(RunCase, SkipsAnImpossibleProblem) {
  Case c = ParseCase(kK3);
  c.problem.top_k = 99;
  EXPECT_EQ(RunCase(c).outcome, Outcome::kSkipped);
}

TEST(RunCase, FindsADamagedOutputAndNamesCaseAndCommand) {
  RunCaseOptions options = WithDamage([](RunRecord& record) { record.output[5] ^= 0x8000; });
  options.replay = "assay replay --fault sign";
  const Verdict verdict = VerdictOf(kK3, options);
  ASSERT_EQ(verdict.outcome, Outcome::kFailed) << verdict.reason;
  ASSERT_FALSE(verdict.findings.empty());
  for (const Finding& finding : verdict.findings) {
    EXPECT_EQ(finding.case_line, kK3);
    EXPECT_EQ(finding.replay, "assay replay --fault sign '" + std::string(kK3) + "'");
  }
}

TEST(RunCase, RunsTheAskedPathWhateverItsGuardsSay) {
  RunCaseOptions options;
  options.land_as_asked = true;
  PathId made = PathId::kBatched;
  options.factory = [&](PathId path, const Problem&, Device, int threads) {
    made = path;
    return MakeRunner(PathId::kBatched, Device::kHost, threads);
  };
  const Verdict verdict =
      VerdictOf("path=k3 format=mxfp4 layout=transposed rows=3 hidden=128 inter=64", options);
  EXPECT_EQ(made, PathId::kK3);
  EXPECT_EQ(verdict.landing.landed, PathId::kK3);
}

TEST(RunCase, LetsFaultsOfTheHarnessThrough) {
  RunCaseOptions options;
  options.factory = [](PathId, const Problem&, Device, int) -> std::unique_ptr<Runner> {
    throw std::logic_error("a bug");
  };
  EXPECT_THROW(VerdictOf(kK3, options), std::logic_error);
}

TEST(RunCase, SkipsWhenTheMachineFails) {
  RunCaseOptions options;
  options.factory = [](PathId, const Problem&, Device, int) -> std::unique_ptr<Runner> {
    throw EnvironmentError("the GPU fell off the bus; restart");
  };
  const Verdict verdict = VerdictOf(kK3, options);
  EXPECT_EQ(verdict.outcome, Outcome::kSkipped);
  EXPECT_EQ(verdict.reason, "the GPU fell off the bus; restart");
}

}  // namespace
}  // namespace assay
