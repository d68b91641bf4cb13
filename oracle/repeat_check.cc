#include "oracle/repeat_check.h"

#include <fmt/format.h>

#include "oracle/same_bits.h"

namespace assay {
namespace {

constexpr RunOptions kChecked{true, Poison::kOnes}, kShipped{false, Poison::kOnes};

std::string_view PoisonName(Poison poison) {
  if (poison == Poison::kOnes) return "ones";
  return poison == Poison::kZeros ? "zeros" : "random bytes";
}

class Repeats {
 public:
  Repeats(const CaseContext& context, const RunPath& run, const FreeOrder* free)
      : context_(context), run_(run), free_(free) {}

  RepeatResult Judge(const RunRecord& checked, Checks level) {
    const RunRecord shipped = run_(kShipped);
    if (const auto difference = Differ(checked, shipped)) {
      AddRepeat(*difference, checked, shipped);
      result_.notes.push_back("poison not judged: a repeat already differs");
      return std::move(result_);
    }
    JudgePoison(shipped, Poison::kRandom);
    if (level == Checks::kAll && result_.findings.empty()) JudgePoison(shipped, Poison::kZeros);
    return std::move(result_);
  }

 private:
  std::optional<BitDifference> Differ(const RunRecord& a, const RunRecord& b) const {
    return FirstDifference(context_, a, b, Compared::kResults, free_);
  }

  void Add(std::string_view check, std::string_view error_class, std::string_view what,
           const BitDifference& difference, std::string_view left, std::string_view right) {
    Finding finding = NewFinding(context_, check, error_class);
    finding.summary = fmt::format("{}: {} at {}, {} of {} elements differ", what, difference.tensor,
                                  difference.where, difference.count, difference.total);
    difference.AddTo(finding, left, right);
    if (free_ != nullptr && difference.tensor == "output")
      AddEvidence(finding, "free_order_explains", NumberText(free_->spread[difference.index]));
    result_.findings.push_back(std::move(finding));
  }

  // Tells a run that does not repeat itself from a checked build that computes something else.
  void AddRepeat(const BitDifference& difference, const RunRecord& checked,
                 const RunRecord& shipped) {
    auto again = Differ(checked, run_(kChecked));
    if (!again) again = Differ(shipped, run_(kShipped));
    if (again)
      Add("repeat", "nondeterministic", "two runs on the same bytes differ", *again, "first_run",
          "second_run");
    else
      Add("repeat", "checked_differs", "the checked build and the one that ships differ",
          difference, "checked", "unchecked");
  }

  void JudgePoison(const RunRecord& shipped, Poison poison) {
    const auto difference = Differ(shipped, run_({false, poison}));
    if (!difference) return;
    // Only if the partner still repeats is the poison the cause.
    if (const auto again = Differ(shipped, run_(kShipped))) {
      Add("repeat", "nondeterministic", "two runs on the same bytes differ", *again, "first_run",
          "second_run");
      result_.notes.push_back("poison not judged: a repeat differs");
      return;
    }
    const std::string other(PoisonName(poison));
    Add("poison", "influenced",
        fmt::format("bytes that nothing may depend on change the result (ones against {})", other),
        *difference, "with_ones", "with_" + other.substr(0, other.find(' ')));
    AddOtherPoison(result_.findings.back(), shipped, poison);
  }

  // A third pattern tells how the bytes act: zeros hide what is only added.
  void AddOtherPoison(Finding& finding, const RunRecord& shipped, Poison seen) {
    const Poison poison = seen == Poison::kZeros ? Poison::kRandom : Poison::kZeros;
    const bool same = !Differ(shipped, run_({false, poison}));
    AddEvidence(finding, "third_pattern",
                fmt::format("{}: {} ones", PoisonName(poison), same ? "as" : "differs from"));
  }

  const CaseContext& context_;
  const RunPath& run_;
  const FreeOrder* free_;
  RepeatResult result_;
};

}  // namespace

RepeatResult CheckRepeats(const CaseContext& context, const RunRecord& checked, const RunPath& run,
                          Checks level, const FreeOrder* free) {
  return Repeats(context, run, free).Judge(checked, level);
}

}  // namespace assay
