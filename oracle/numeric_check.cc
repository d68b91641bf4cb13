#include "oracle/numeric_check.h"

#include <fmt/format.h>

#include "oracle/bf16_value.h"

namespace assay {
namespace {

void AddStages(Finding& finding, const std::vector<StageResult>& stages) {
  for (const StageResult& stage : stages)
    AddEvidence(finding, "stage_" + stage.stage, stage.ToText());
}

// The stage at which an output left the contract: the first wrong intermediate; the blend if all
// those before it were shown and are right.
std::string Blame(const CaseContext& context, const std::vector<StageResult>& stages) {
  if (const StageResult* wrong = FirstWrong(stages)) return wrong->stage;
  bool down = false, shared = !context.layer.shared.has_value();
  for (const StageResult& stage : stages) {
    down = down || stage.stage == "down";
    shared = shared || stage.stage == "shared_down";
  }
  return down && shared ? "blend" : "unknown";
}

std::string BlameText(const std::string& blame) {
  return blame == "unknown" ? "unknown: the path does not show every intermediate" : blame;
}

Finding OutputFinding(const CaseContext& context, const RunRecord& run,
                      const OutputExpected& expected, const NumericResult& result,
                      const std::vector<StageResult>& stages) {
  const int hidden = context.layer.problem.hidden;
  const auto first = static_cast<std::size_t>(result.first);
  const std::string blame = Blame(context, stages);
  Finding finding = NewFinding(context, "numeric", "out_of_contract", KernelOf(run, blame));
  const std::string where = fmt::format("token {}, column {}", first / hidden, first % hidden);
  finding.summary =
      fmt::format("output at {}: expected {}, got {}; {} wrong, from stage {}", where,
                  IntervalText(expected.stored[first]), NumberText(ValueOfBf16(run.output[first])),
                  CountText(result.wrong, result.judged), BlameText(blame));
  AddEvidence(finding, "first", where);
  AddEvidence(finding, "expected", IntervalText(expected.stored[first]));
  AddEvidence(finding, "center", NumberText(expected.center[first]));
  AddEvidence(finding, "bound", NumberText(expected.error[first]));
  AddEvidence(finding, "exact", NumberText(expected.exact[first]));
  AddEvidence(finding, "got", Bf16Text(run.output[first]));
  AddEvidence(finding, "wrong", CountText(result.wrong, result.judged));
  AddEvidence(finding, "worst_margin",
              fmt::format("{:.3g} at token {}, column {}", result.worst_margin,
                          result.worst / hidden, result.worst % hidden));
  AddEvidence(finding, "stage", BlameText(blame));
  AddStages(finding, stages);
  return finding;
}

Finding StageFinding(const CaseContext& context, const RunRecord& run, const StageResult& wrong,
                     const NumericResult& result, const std::vector<StageResult>& stages) {
  Finding finding =
      NewFinding(context, "numeric", "stage_out_of_contract", KernelOf(run, wrong.stage));
  finding.summary = fmt::format("{}, though the output stays within the contract", wrong.ToText());
  AddEvidence(finding, "first", wrong.where);
  AddEvidence(finding, "expected", IntervalText(wrong.expected));
  AddEvidence(finding, "got", Bf16Text(wrong.got));
  AddEvidence(finding, "wrong", CountText(wrong.wrong, wrong.compared));
  AddEvidence(finding, "worst_margin", fmt::format("{:.3g}", result.worst_margin));
  AddEvidence(finding, "stage", wrong.stage);
  AddStages(finding, stages);
  return finding;
}

}  // namespace

NumericResult JudgeOutput(std::span<const std::uint16_t> output, const OutputExpected& expected) {
  NumericResult result;
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (output[i] == kUnwrittenBf16) continue;
    ++result.judged;
    const double value = ValueOfBf16(output[i]);
    const double margin = Margin(value, expected.center[i], expected.stored[i]);
    if (result.worst < 0 || margin > result.worst_margin) {
      result.worst_margin = margin;
      result.worst = static_cast<std::int64_t>(i);
    }
    if (!expected.stored[i].Holds(value) && result.wrong++ == 0)
      result.first = static_cast<std::int64_t>(i);
  }
  return result;
}

bool Admits(std::span<const std::uint16_t> output, const OutputExpected& expected) {
  for (std::size_t i = 0; i < output.size(); ++i)
    if (output[i] == kUnwrittenBf16 || !expected.stored[i].Holds(ValueOfBf16(output[i])))
      return false;
  return true;
}

std::vector<Finding> CheckNumeric(const CaseContext& context, const RunRecord& run,
                                  const OutputExpected& expected, const NumericResult& result,
                                  const std::vector<StageResult>& stages) {
  if (result.wrong > 0) return {OutputFinding(context, run, expected, result, stages)};
  // The output bound admits more than each stage does: a stage outside its interval is a breach of
  // the contract even where the output hides it. The router's logits are the check routing's.
  for (const StageResult& stage : stages)
    if (stage.wrong > 0 && stage.stage != "router")
      return {StageFinding(context, run, stage, result, stages)};
  return {};
}

}  // namespace assay
