#include <fmt/ostream.h>
#include <omp.h>

#include "ci/commands.h"
#include "ci/interrupt.h"
#include "ci/judge_lines.h"
#include "ci/prove_fault.h"
#include "ci/table.h"
#include "ci/words.h"
#include "reports/finding_text.h"

namespace assay {
namespace {

std::vector<const Fault*> Chosen(const std::vector<std::string>& names) {
  std::vector<const Fault*> chosen;
  for (const std::string& name : names) chosen.push_back(&RequireFault(name));
  if (names.empty()) {
    for (const Fault& fault : Faults()) chosen.push_back(&fault);
  }
  return chosen;
}

ExitCode ListFaults(const std::vector<const Fault*>& faults, bool names_only, Console& console) {
  Table table({"fault", "found by", "what it does"});
  for (const Fault* fault : faults) {
    if (names_only) fmt::print(console.out, "{}\n", fault->name);
    table.Add({fault->name, fault->check, fault->what});
  }
  if (!names_only) fmt::print(console.out, "{}", table.Text());
  return ExitCode::kPass;
}

std::string Joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

void PrintFound(const Fault& fault, const FaultProof& proof, Console& console) {
  fmt::print(console.out, "{}: found by {} after {} case{}, {:.1f} s\n", fault.name, fault.check,
             proof.cases, proof.cases == 1 ? "" : "s", proof.seconds);
  if (!proof.others.empty()) {
    fmt::print(console.out, "  also seen by {}\n", Joined(proof.others));
  }
  fmt::print(console.out, "\n{}\nshrunk to\n  {}\n\n", FindingText(proof.finding),
             ToLine(proof.smallest));
}

void PrintMissed(const Fault& fault, const FaultProof& proof, Console& console) {
  fmt::print(console.out, "{}: MISSED by {}, which must find it ({} case{}, last '{}')\n",
             fault.name, fault.check, proof.cases, proof.cases == 1 ? "" : "s",
             ToLine(proof.smallest));
  fmt::print(
      console.out, "  {}\n\n",
      proof.others.empty() ? "no other check saw it" : "seen only by " + Joined(proof.others));
}

ProofOptions ProofOptionsOf(const FaultsOptions& options) {
  ProofOptions proof;
  proof.device = FromWord<Device>("--device", options.device);
  proof.threads = omp_get_max_threads();
  proof.generated = options.generated;
  proof.seed = options.seed;
  proof.stop = Interrupted;
  RequireDevice(proof.device);
  return proof;
}

}  // namespace

ExitCode RunFaults(const FaultsOptions& options, Console& console) {
  const std::vector<const Fault*> chosen = Chosen(options.only);
  if (options.list) return ListFaults(chosen, options.names, console);
  const ProofOptions proof_options = ProofOptionsOf(options);
  const InterruptScope scope;
  Tally tally;
  for (const Fault* fault : chosen) {
    const FaultProof proof = ProveFault(*fault, proof_options);
    if (proof.found) {
      tally.Pass();
      PrintFound(*fault, proof, console);
    } else if (proof.interrupted) {
      tally.Skip("interrupted");
    } else {
      tally.Fail(ExitCode::kWrongResult);
      PrintMissed(*fault, proof, console);
    }
    if (Interrupted()) break;
  }
  PrintTally(tally, console);
  return tally.Exit();
}

}  // namespace assay
