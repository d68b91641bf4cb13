#include "fuzz/run_case.h"

#include <chrono>

#include "fuzz/generate_shape.h"
#include "gpu/run/data_rules.h"
#include "gpu/run/device_fault.h"

namespace assay {

namespace {

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Landing AsAsked(PathId path) { return {path, path, {Decision{}}}; }

Verdict Skipped(const Landing& landing, std::string reason) {
  Verdict verdict;
  verdict.landing = landing;
  verdict.outcome = Outcome::kSkipped;
  verdict.reason = std::move(reason);
  return verdict;
}

Verdict Refused(const Landing& landing, std::string_view rule) {
  Verdict verdict;
  verdict.landing = landing;
  verdict.outcome = Outcome::kRefused;
  verdict.reason = rule;
  return verdict;
}

// The most that the case can read: every routed expert of every slot, at two bytes a weight. The
// host keeps a few copies of it.
std::string TooLarge(const Problem& p) {
  constexpr std::int64_t kLimit = std::int64_t{8} << 30;
  const std::int64_t experts = std::min<std::int64_t>(p.experts, p.Slots()) + (p.shared ? 1 : 0);
  const std::int64_t widest = std::max(p.inter, p.SharedInter());
  const std::int64_t bytes = 2 * experts * 3 * p.hidden * widest;
  if (bytes <= kLimit) return "";
  return "too large: up to " + std::to_string(bytes >> 30) +
         " GiB of weights, at most 8; lower rows, top_k, hidden or inter";
}

// The path that the landed one replaces, where it serves the problem too.
bool HasFallback(PathId landed, const Problem& problem) {
  return landed != PathId::kBatched &&
         Decide(PathId::kBatched, problem).kind == Decision::Kind::kRuns;
}

struct Runners {
  std::unique_ptr<Runner> path, fallback, host_replay;

  Candidates View() const { return {path.get(), fallback.get(), host_replay.get()}; }
};

World& WorldOf(const RunCaseOptions& options) {
  return options.world == nullptr ? ThreadWorld() : *options.world;
}

std::unique_ptr<Runner> Make(const RunCaseOptions& options, PathId landed, const Problem& problem,
                             Device device) {
  return options.factory ? options.factory(landed, problem, device, options.threads)
                         : MakeRunner(landed, device, options.threads, WorldOf(options));
}

Runners MakeRunners(const Case& c, PathId landed, const RunCaseOptions& options) {
  Runners runners;
  runners.path = Make(options, landed, c.problem, c.device);
  if (HasFallback(landed, c.problem)) {
    runners.fallback = MakeRunner(PathId::kBatched, c.device, options.threads, WorldOf(options));
  }
  if (c.device == Device::kCuda) {
    runners.host_replay = Make(options, landed, c.problem, Device::kHost);
  }
  return runners;
}

void NameTheCase(const Case& c, const RunCaseOptions& options, Verdict& verdict) {
  const std::string line = ToLine(c);
  for (Finding& finding : verdict.findings) {
    finding.case_line = line;
    finding.replay = options.replay + " '" + line + "'";
  }
}

// A kernel stopped the GPU in the middle of the case.
Verdict Stopped(const Case& c, const Landing& landing, const RunCaseOptions& options,
                const DeviceFault& fault) {
  Verdict verdict;
  verdict.landing = landing;
  verdict.outcome = Outcome::kFailed;
  Finding finding;
  finding.check = "memory";
  finding.path = Token(landing.landed);
  finding.kernel = fault.doing;
  finding.error_class = "kernel_stopped_gpu";
  finding.summary = fault.what();
  finding.evidence = {{"came_to_light_in", fault.doing}};
  verdict.findings.push_back(std::move(finding));
  NameTheCase(c, options, verdict);
  return verdict;
}

Verdict BuildAndJudge(const Case& c, const Landing& landing, const RunCaseOptions& options) {
  const double start = Now();
  const LayerData layer = BuildLayer(c.problem);
  const double built = Now();
  if (const auto broken = BrokenDataRule(layer); broken && !options.land_as_asked)
    return Refused(landing, broken->rule);
  const Runners runners = MakeRunners(c, landing.landed, options);
  Verdict verdict = Judge(layer, landing, runners.View(), c.checks);
  verdict.landing = landing;
  verdict.seconds["build"] += built - start;
  NameTheCase(c, options, verdict);
  return verdict;
}

}  // namespace

Verdict RunCase(const Case& c, const RunCaseOptions& options) {
  if (const auto why = Impossible(c.problem))
    return Skipped(AsAsked(c.path), "impossible: " + *why);
  const Landing landing = options.land_as_asked ? AsAsked(c.path) : Land(c.path, c.problem);
  if (landing.Refused() && landing.decisions.back().NotBuilt())
    return Skipped(landing, landing.decisions.back().rule);
  if (landing.Refused()) return Refused(landing, landing.decisions.back().rule);
  if (const auto why = DeviceProblem(c.device)) return Skipped(landing, *why);
  if (const std::string why = TooLarge(c.problem); !why.empty()) return Skipped(landing, why);
  try {
    return BuildAndJudge(c, landing, options);
  } catch (const DeviceFault& fault) {
    return Stopped(c, landing, options, fault);
  } catch (const UnsupportedProblem& error) {
    return Skipped(landing, "not built yet: " + std::string(error.what()));
  } catch (const EnvironmentError& error) {
    return Skipped(landing, error.what());
  }
}

}  // namespace assay
