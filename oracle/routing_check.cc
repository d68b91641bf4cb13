#include "oracle/routing_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "oracle/bf16_value.h"
#include "oracle/stage_check.h"
#include "reference/routing.h"

namespace assay {
namespace {

// Rows of a [rows, width] array.
template <class T>
std::span<const T> Row(const std::vector<T>& values, int row, int width) {
  return std::span(values).subspan(static_cast<std::size_t>(row) * width, width);
}

std::string IdsText(std::span<const std::uint32_t> ids) {
  return fmt::format("{}", fmt::join(ids, " "));
}

// The experts with the best stored logits, for a reader who wonders why these ids.
std::string BestText(std::span<const double> logits, int count) {
  std::vector<int> order(logits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return logits[a] > logits[b]; });
  order.resize(std::min<std::size_t>(order.size(), count));
  std::vector<std::string> texts;
  for (const int expert : order)
    texts.push_back(fmt::format("{}:{}", expert, NumberText(logits[expert])));
  return fmt::format("{}", fmt::join(texts, " "));
}

// The logits as the path stored them, BF16 or FP32; empty if it does not show them.
std::vector<double> LogitsOf(const RunRecord& run) {
  std::vector<double> logits(run.stages.logits_fp32.begin(), run.stages.logits_fp32.end());
  for (const std::uint16_t bits : run.stages.logits) logits.push_back(ValueOfBf16(bits));
  return logits;
}

void CheckLogits(const CaseContext& context, const RunRecord& run, const RouterExpected& expected,
                 std::vector<Finding>& findings) {
  const int experts = context.layer.problem.RouterOutputs();
  const std::vector<double> logits = LogitsOf(run);
  std::int64_t wrong = 0, first = -1;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (expected.stored[i].Holds(logits[i])) continue;
    if (wrong++ == 0) first = static_cast<std::int64_t>(i);
  }
  if (wrong == 0) return;
  Finding finding =
      NewFinding(context, "routing", "logits_out_of_contract", KernelOf(run, "router"));
  const std::string where = fmt::format("token {}, expert {}", first / experts, first % experts);
  finding.summary = fmt::format("logit of {}: expected {}, got {}; {} of {} logits are wrong",
                                where, IntervalText(expected.stored[first]),
                                NumberText(logits[first]), wrong, logits.size());
  AddEvidence(finding, "first", where);
  AddEvidence(finding, "expected", IntervalText(expected.stored[first]));
  AddEvidence(finding, "exact", NumberText(expected.logits[first]));
  AddEvidence(
      finding, "got",
      run.stages.logits.empty() ? NumberText(logits[first]) : Bf16Text(run.stages.logits[first]));
  AddEvidence(finding, "wrong", CountText(wrong, static_cast<std::int64_t>(logits.size())));
  findings.push_back(std::move(finding));
}

// What the path chose for a token.
RouteChoice ChoiceOf(const Problem& problem, const RunRecord& run, int row) {
  RouteChoice choice{Row(run.ids, row, problem.top_k), Row(run.weights, row, problem.top_k), {}};
  if (!run.identity_weights.empty()) choice.identity_weight = run.identity_weights[row];
  return choice;
}

void CheckSelections(const CaseContext& context, const RunRecord& run,
                     std::vector<Finding>& findings) {
  const Problem& problem = context.layer.problem;
  const std::vector<double> logits = LogitsOf(run);
  std::optional<Finding> first;
  int wrong = 0;
  for (int row = 0; row < problem.rows; ++row) {
    const RouteChoice choice = ChoiceOf(problem, run, row);
    RouteInputs inputs = RouteInputsOf(context.layer, row);
    inputs.logits = Row(logits, row, problem.RouterOutputs());
    const auto error = JudgeRoute(problem, inputs, choice);
    if (!error || error->error_class == "illegal_id") continue;  // CheckLegalIds says the latter
    if (wrong++ > 0) continue;
    first = NewFinding(context, "routing", error->error_class, KernelOf(run, "selection"));
    first->summary = fmt::format("token {}: {}", row, error->summary);
    AddEvidence(*first, "token", fmt::to_string(row));
    AddEvidence(*first, "ids", IdsText(choice.ids));
    AddEvidence(*first, "weights", fmt::format("{}", fmt::join(choice.weights, " ")));
    AddEvidence(*first, "best_stored_logits", BestText(inputs.logits, problem.top_k + 2));
  }
  if (!first) return;
  AddEvidence(*first, "wrong_tokens", CountText(wrong, problem.rows));
  findings.push_back(std::move(*first));
}

void CheckAdmissible(const CaseContext& context, const RunRecord& run,
                     const RouterExpected& expected, std::vector<Finding>& findings) {
  const Problem& problem = context.layer.problem;
  for (int row = 0; row < problem.rows; ++row) {
    const auto ids = Row(run.ids, row, problem.top_k);
    if (std::any_of(ids.begin(), ids.end(), [&](auto id) {
          return id >= static_cast<std::uint32_t>(problem.RouterOutputs());
        }))
      continue;  // CheckLegalIds says so
    if (AdmissibleIds(problem, Row(expected.stored, row, problem.RouterOutputs()),
                      RouteInputsOf(context.layer, row), ChoiceOf(problem, run, row)))
      continue;
    Finding finding = NewFinding(context, "routing", "wrong_selection", KernelOf(run, "selection"));
    finding.summary =
        fmt::format("token {}: no admissible logits choose experts {}", row, IdsText(ids));
    AddEvidence(finding, "token", fmt::to_string(row));
    AddEvidence(finding, "ids", IdsText(ids));
    AddEvidence(finding, "admissible", fmt::format("{}", fmt::join(expected.may[row], " ")));
    findings.push_back(std::move(finding));
    return;
  }
}

}  // namespace

std::vector<Finding> CheckLegalIds(const CaseContext& context, const RunRecord& run,
                                   const RouterExpected& expected) {
  const Problem& problem = context.layer.problem;
  std::int64_t wrong = 0, first = -1;
  for (std::size_t i = 0; i < run.ids.size(); ++i) {
    const std::uint32_t id = run.ids[i];
    const bool identity = id >= static_cast<std::uint32_t>(problem.experts) &&
                          id < static_cast<std::uint32_t>(problem.RouterOutputs());
    const bool known =
        id == kNoExpert || identity || context.layer.experts.contains(static_cast<int>(id));
    if (!known && wrong++ == 0) first = static_cast<std::int64_t>(i);
  }
  if (wrong == 0) return {};
  const auto row = first / problem.top_k, slot = first % problem.top_k;
  const std::uint32_t id = run.ids[first];
  const bool exists = id < static_cast<std::uint32_t>(problem.experts);
  Finding finding = NewFinding(context, "routing", exists ? "inadmissible_expert" : "illegal_id",
                               KernelOf(run, "selection"));
  finding.summary =
      fmt::format("token {} slot {}: expert {} {}", row, slot, id,
                  exists ? "is in no admissible selection of this layer"
                         : fmt::format("does not exist, the layer has {}", problem.experts));
  AddEvidence(finding, "token", fmt::to_string(row));
  AddEvidence(finding, "slot", fmt::to_string(slot));
  AddEvidence(finding, "got", fmt::to_string(id));
  AddEvidence(finding, "admissible", fmt::format("{}", fmt::join(expected.may[row], " ")));
  AddEvidence(finding, "wrong", CountText(wrong, static_cast<std::int64_t>(run.ids.size())));
  return {finding};
}

std::vector<Finding> CheckRouting(const CaseContext& context, const RunRecord& run,
                                  const RouterExpected& expected) {
  std::vector<Finding> findings;
  if (LogitsOf(run).empty()) {
    CheckAdmissible(context, run, expected, findings);
    return findings;
  }
  CheckLogits(context, run, expected, findings);
  CheckSelections(context, run, findings);
  return findings;
}

}  // namespace assay
