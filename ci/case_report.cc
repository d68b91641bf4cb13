#include "ci/case_report.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include "ci/tally.h"
#include "gpu/dispatch/guards.h"
#include "reports/finding_text.h"

namespace assay {
namespace {

void Line(std::ostream& out, std::string_view name, const std::string& value) {
  if (!value.empty()) fmt::print(out, "  {:<10} {}\n", name, value);
}

std::string Joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

bool WasJudged(const Verdict& verdict) {
  return verdict.outcome != Outcome::kRefused && verdict.outcome != Outcome::kSkipped;
}

std::string MarginText(const Verdict& verdict) {
  return fmt::format("{:.4f} of the admissible distance, over {} output elements",
                     verdict.worst_margin, verdict.work.elements);
}

// Why the rule that refused is there; empty where nothing was refused.
std::string WhyRefused(const Landing& landing) {
  if (landing.decisions.empty() || !landing.Refused()) return "";
  for (const Guard& guard : GuardsOf(landing.landed)) {
    if (guard.rule == landing.decisions.back().rule) return std::string(guard.why);
  }
  return "";
}

std::string WorkText(const Work& work) {
  return fmt::format("{} elements, {} experts, {} scale bytes, {} launches, {:.1f} % powerful",
                     work.elements, work.experts, work.scale_bytes, work.launches,
                     100 * work.powerful);
}

std::string SecondsText(const Verdict& verdict) {
  std::string text;
  for (const auto& [stage, seconds] : verdict.seconds) {
    text += fmt::format("{}{} {:.4f}", text.empty() ? "" : ", ", stage, seconds);
  }
  return text;
}

}  // namespace

void PrintVerdict(std::ostream& out, const Case& c, const Verdict& verdict, bool verbose) {
  fmt::print(out, "{}\n", ToLine(c));
  if (!verdict.landing.decisions.empty()) Line(out, "landed", verdict.landing.ToText());
  Line(out, "kernels", Joined(verdict.kernels));
  Line(out, "contract", verdict.contract);
  if (WasJudged(verdict)) {
    Line(out, "margin", MarginText(verdict));
    if (verbose) {
      Line(out, "compared", WorkText(verdict.work));
      Line(out, "output", fmt::format("FNV-1a {:016x}", verdict.output_hash));
    }
  }
  if (verbose) Line(out, "seconds", SecondsText(verdict));
  Line(out, "verdict", OutcomeText(verdict));
  Line(out, "why", WhyRefused(verdict.landing));
  for (const Finding& finding : verdict.findings) fmt::print(out, "\n{}", FindingText(finding));
}

}  // namespace assay
