#include "ci/prove_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "fuzz/cells.h"
#include "fuzz/generate.h"
#include "fuzz/shrink.h"
#include "fuzz/text.h"

namespace assay {
namespace {

const Finding* FindingOf(const Verdict& verdict, const std::string& check) {
  for (const Finding& finding : verdict.findings) {
    if (finding.check == check) return &finding;
  }
  return nullptr;
}

std::vector<std::string> OtherChecks(const Verdict& verdict, const std::string& check) {
  std::vector<std::string> others;
  for (const Finding& finding : verdict.findings) {
    const bool known = std::find(others.begin(), others.end(), finding.check) != others.end();
    if (finding.check != check && !known) others.push_back(finding.check);
  }
  return others;
}

Verdict RunPlanted(const Fault& fault, const Case& c, int threads) {
  return RunCase(c, Planted(fault, c.path, threads));
}

// Judges one case with the fault in place; true when its own check found it.
bool Try(const Fault& fault, const Case& c, const ProofOptions& options, FaultProof& proof) {
  ++proof.cases;
  proof.smallest = c;
  proof.verdict = RunPlanted(fault, c, options.threads);
  proof.others = OtherChecks(proof.verdict, fault.check);
  proof.found = FindingOf(proof.verdict, fault.check) != nullptr;
  return proof.found;
}

bool Stopped(const ProofOptions& options, FaultProof& proof) {
  proof.interrupted = options.stop && options.stop();
  return proof.interrupted;
}

void SearchGenerated(const Fault& fault, const ProofOptions& options, FaultProof& proof) {
  // A generated case may have a shape on which the fault cannot show: those are passed over.
  constexpr std::uint64_t kDrawsPerCase = 50;
  const auto draws = static_cast<std::uint64_t>(options.generated) * kDrawsPerCase;
  for (std::uint64_t number = 0; number < draws && proof.cases < options.generated; ++number) {
    Case c = GenerateCase(Distribution::kSmall, options.seed, number);
    c.path = fault.paths[number % fault.paths.size()];
    if (Decide(c.path, c.problem).rule == "rows") c.problem.rows = RowsOf(c.path).front();
    c.device = options.device;
    if (!Applies(fault, c.path, c.problem)) continue;
    if (Stopped(options, proof) || Try(fault, c, options, proof)) return;
  }
}

// Keeps the case small for the check that must find the fault, whatever else it shows.
void ShrinkProof(const Fault& fault, const ProofOptions& options, FaultProof& proof) {
  Verdict own = proof.verdict;
  own.findings = {proof.finding};
  // The guard that is planted away must stay the one that the case meets: no other may be shrunk
  // into.
  const Decision met = Decide(proof.smallest.path, proof.smallest.problem);
  const auto judge = [&](const Case& c) {
    const bool same = Decide(c.path, c.problem) == met;
    if (!same || !Applies(fault, c.path, c.problem)) return Verdict{};
    return RunPlanted(fault, c, options.threads);
  };
  const Shrunk shrunk = Shrink(proof.smallest, own, judge, 400, options.stop);
  proof.smallest = shrunk.smallest;
  if (const Finding* finding = FindingOf(shrunk.verdict, fault.check)) proof.finding = *finding;
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

RunCaseOptions Planted(const Fault& fault, PathId path, int threads) {
  RunCaseOptions options;
  options.threads = threads;
  options.land_as_asked = true;
  options.replay = "assay replay --fault " + fault.name;
  options.factory = [&fault, path](PathId, const Problem&, Device device, int workers) {
    return MakeFaultRunner(fault, path, device, workers);
  };
  return options;
}

FaultProof ProveFault(const Fault& fault, const ProofOptions& options) {
  const double begin = Now();
  FaultProof proof;
  if (options.generated > 0) {
    SearchGenerated(fault, options, proof);
  } else {
    Case c = fault.smallest;
    c.device = options.device;
    Try(fault, c, options, proof);
  }
  if (proof.found) {
    proof.finding = *FindingOf(proof.verdict, fault.check);
    if (options.shrink) ShrinkProof(fault, options, proof);
  }
  proof.seconds = Now() - begin;
  return proof;
}

const Fault& RequireFault(const std::string& name) {
  if (const Fault* fault = FindFault(name)) return *fault;
  std::vector<std::string> names;
  for (const Fault& fault : Faults()) names.push_back(fault.name);
  throw UsageError(fmt::format(
      "fault is '{}', and no planted fault has this name{}: see "
      "assay faults --list",
      Printable(name), names.empty() ? "" : "; the nearest is " + Nearest(name, names)));
}

}  // namespace assay
