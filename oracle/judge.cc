#include "oracle/judge.h"

#include <chrono>
#include <optional>
#include <set>
#include <stdexcept>

#include "oracle/fused_check.h"
#include "oracle/graph_check.h"
#include "oracle/host_bits_check.h"
#include "oracle/launches_check.h"
#include "oracle/ledger_check.h"
#include "oracle/memory_check.h"
#include "oracle/numeric_check.h"
#include "oracle/ownership_check.h"
#include "oracle/power_check.h"
#include "oracle/ranks_check.h"
#include "oracle/repeat_check.h"
#include "oracle/routing_check.h"
#include "oracle/run_shape.h"
#include "oracle/unwritten_check.h"
#include "reference/rounding_contract.h"

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class CaseJudge {
 public:
  CaseJudge(const LayerData& layer, const Landing& landing, const Candidates& candidates,
            Checks level)
      : context_{layer, landing},
        contract_(ContractOf(landing.landed, layer.problem)),
        candidates_(candidates),
        level_(level) {
    if (candidates.path == nullptr) throw std::logic_error("Judge() was given no path to judge");
  }

  Verdict Judge() {
    const auto start = Clock::now();
    run_ = Run(*candidates_.path, {}, "path_runs");
    Describe();
    Replay();
    JudgeAccesses();
    JudgeNumbers();
    JudgeGraph();
    JudgeRepeats();
    JudgeHostBits();
    Conclude();
    double others = 0;
    for (const auto& [stage, seconds] : verdict_.seconds) others += seconds;
    verdict_.seconds["judge"] = SecondsSince(start) - others;
    return std::move(verdict_);
  }

 private:
  bool Standard() const { return level_ != Checks::kFast; }
  bool OnCuda() const { return candidates_.path->device() == Device::kCuda; }
  const RunRecord* Replayed() const { return replay_ ? &*replay_ : nullptr; }
  const Problem& problem() const { return context_.layer.problem; }

  template <class Work>
  auto Timed(const char* stage, const Work& work) {
    const auto start = Clock::now();
    auto result = work();
    verdict_.seconds[stage] += SecondsSince(start);
    return result;
  }

  RunRecord Run(Runner& runner, const RunOptions& options, const char* stage) {
    RunRecord run = Timed(stage, [&] { return runner.Run(context_.layer, options); });
    RequireShape(problem(), run);
    return run;
  }

  void Add(std::vector<Finding> findings) {
    for (Finding& finding : findings) verdict_.findings.push_back(std::move(finding));
  }

  void Describe() {
    const Landing& landing = context_.landing;
    verdict_.landing = landing;
    verdict_.kernels = FoldedKernels(run_);
    verdict_.contract = contract_.Name();
    verdict_.output_hash = OutputHash(run_);
    verdict_.launches = run_.launches;
    verdict_.distinct_experts = run_.distinct_experts;
    verdict_.work.launches = static_cast<std::int64_t>(run_.launches.size());
    std::set<std::uint32_t> experts;
    for (const std::uint32_t id : run_.ids)
      if (context_.layer.experts.contains(static_cast<int>(id))) experts.insert(id);
    verdict_.work.experts = static_cast<std::int64_t>(experts.size());
  }

  // A GPU run has exact totals only; ledger, first access and lowest byte are the host's.
  void Replay() {
    if (!OnCuda() || candidates_.host_replay == nullptr) return;
    if (Standard() || !SafeUnchecked(run_))
      replay_ = Run(*candidates_.host_replay, {}, "host_replay");
  }

  void JudgeAccesses() {
    Add(CheckMemory(context_, run_, Replayed()));
    Add(CheckLaunches(context_, run_, ExpectedKernels(context_.landing.landed, problem())));
    Add(CheckUnwritten(context_, run_));
    Add(CheckRanks(context_, run_));
    if (!Standard()) return;
    Add(CheckOwners(context_, run_, Replayed()));
    JudgeLedger(replay_ ? *replay_ : run_);
  }

  void JudgeLedger(const RunRecord& run) {
    if (!run.has_ledger) {
      verdict_.notes.push_back("ownership: no run kept a ledger of the scale bytes it read");
      return;
    }
    LedgerResult ledger = CheckLedger(context_, run);
    verdict_.work.scale_bytes = ledger.compared;
    Add(std::move(ledger.findings));
  }

  void JudgeNumbers() {
    const auto reference = Timed(
        "reference", [&] { return std::make_unique<LayerReference>(context_.layer, contract_); });
    const RouterExpected& router = *Timed("reference", [&] { return &reference->Router(); });
    std::vector<Finding> illegal = CheckLegalIds(context_, run_, router);
    legal_ = illegal.empty();
    Add(std::move(illegal));
    if (Standard()) Add(CheckRouting(context_, run_, router));
    if (!legal_) {
      verdict_.notes.push_back(
          "numeric not judged: an id names an expert the layer has no weights of");
      return;
    }
    const OutputExpected expected = Evaluate(*reference, run_);
    const NumericResult result = JudgeOutput(run_.output, expected);
    verdict_.worst_margin = result.worst_margin;
    verdict_.work.elements = result.judged;
    Add(CheckNumeric(context_, run_, expected, result,
                     JudgeStages(context_, run_, router, expected.stages)));
    if (AddsInFreeOrder(context_.landing.landed, problem()))
      free_ = SpreadOf(context_, run_, expected);
    power_ = MeasurePower(context_, run_, expected);
    verdict_.work.powerful = power_.powerful;
    JudgeFused(*reference, router, expected);
  }

  OutputExpected Evaluate(const LayerReference& reference, const RunRecord& run) {
    return Timed("reference", [&] {
      return reference.Evaluate({run.ids, run.weights, run.identity_weights});
    });
  }

  void JudgeFused(const LayerReference& reference, const RouterExpected& router,
                  const OutputExpected& expected) {
    if (candidates_.fallback == nullptr) return;
    // Such a path is as inaccurate as it declares; the numeric check holds it to that.
    if (RoundingPoints(contract_.routed) >
        RoundingPoints(ContractOf(PathId::kBatched, problem()).routed))
      return NotFused("the path's contract rounds more often than its fallback's");
    if (!SafeUnchecked(run_)) return NotFused("the path itself reads or writes outside");
    const RunRecord fallback = Run(*candidates_.fallback, {}, "fallback_run");
    if (!SafeUnchecked(fallback)) return NotFused("the fallback reads or writes outside");
    if (!CheckLegalIds(context_, fallback, router).empty())
      return NotFused("the fallback chose an expert the layer has no weights of");
    Add(CheckSameLogits(context_, run_, fallback));
    const bool same = fallback.ids == run_.ids && fallback.weights == run_.weights &&
                      fallback.identity_weights == run_.identity_weights;
    const OutputExpected other = same ? OutputExpected{} : Evaluate(reference, fallback);
    FusedResult fused = CheckFused(context_, run_, expected, fallback, same ? expected : other);
    if (!fused.not_judged.empty()) NotFused(fused.not_judged);
    Add(std::move(fused.findings));
    if (KeepsFallbackBits(context_.landing.landed))
      Add(CheckFallbackBits(context_, run_, fallback));
  }

  void NotFused(const std::string& reason) {
    verdict_.notes.push_back("fused not judged: " + reason);
  }

  // Checked, so that it is safe whatever the path does.
  void JudgeGraph() {
    if (!problem().graph) return;
    const RunRecord plain = Run(*candidates_.path, {true, Poison::kOnes, false}, "path_runs");
    Add(CheckGraph(context_, run_, plain, free_ ? &*free_ : nullptr));
  }

  void JudgeRepeats() {
    if (!Standard()) return;
    // The build that ships has no extents: code that leaves its tensors must not run in it.
    if (!legal_ || !SafeUnchecked(run_) || (replay_ && !SafeUnchecked(*replay_))) {
      verdict_.notes.push_back("repeat and poison not judged: an unchecked run would not be safe");
      return;
    }
    RepeatResult repeats = CheckRepeats(
        context_, run_,
        [&](const RunOptions& options) { return Run(*candidates_.path, options, "path_runs"); },
        level_, free_ ? &*free_ : nullptr);
    Add(std::move(repeats.findings));
    for (std::string& note : repeats.notes) verdict_.notes.push_back(std::move(note));
  }

  void JudgeHostBits() {
    if (!Standard() || !OnCuda()) return;
    if (replay_ && (free_ || !AddsInFreeOrder(context_.landing.landed, problem())))
      Add(CheckHostBits(context_, run_, *replay_, free_ ? &*free_ : nullptr));
    else if (replay_)
      verdict_.notes.push_back("host_bits not judged: sums in free order, and an illegal id");
    else
      verdict_.notes.push_back("host_bits not judged: there is no host replay");
  }

  void Conclude() {
    if (!verdict_.findings.empty()) {
      verdict_.outcome = Outcome::kFailed;
    } else if (!power_.vacuous.empty()) {
      verdict_.outcome = Outcome::kVacuous;
      verdict_.reason = power_.vacuous;
    }
  }

  CaseContext context_;
  PathContract contract_;
  Candidates candidates_;
  Checks level_;
  Verdict verdict_;
  RunRecord run_;
  std::optional<RunRecord> replay_;
  std::optional<FreeOrder> free_;  // where the path adds in free order
  bool legal_ = true;
  PowerResult power_;
};

}  // namespace

Verdict Judge(const LayerData& layer, const Landing& landing, const Candidates& candidates,
              Checks level) {
  return CaseJudge(layer, landing, candidates, level).Judge();
}

}  // namespace assay
