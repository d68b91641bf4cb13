#include "oracle/stage_check.h"

#include <fmt/format.h>

#include <functional>

#include "oracle/bf16_value.h"

namespace assay {
namespace {

using Where = std::function<std::string(std::int64_t)>;

Where InSlot(const CaseContext& context, const RunRecord& run, int width) {
  const int top_k = context.layer.problem.top_k;
  return [&run, top_k, width](std::int64_t index) {
    const auto slot = index / width;
    return fmt::format("token {} slot {} (expert {}), row {}", slot / top_k, slot % top_k,
                       run.ids[slot], index % width);
  };
}

Where InToken(int width, std::string_view unit) {
  return [width, unit = std::string(unit)](std::int64_t index) {
    return fmt::format("token {}, {} {}", index / width, unit, index % width);
  };
}

StageResult JudgeStage(std::string_view stage, const std::vector<std::uint16_t>& bits,
                       const std::vector<Interval>& expected, const Where& where) {
  StageResult result{std::string(stage), static_cast<std::int64_t>(bits.size()), 0, "", {}, 0};
  for (std::size_t i = 0; i < bits.size(); ++i) {
    if (expected[i].Holds(ValueOfBf16(bits[i]))) continue;
    if (result.wrong++ > 0) continue;
    result.where = where(static_cast<std::int64_t>(i));
    result.expected = expected[i];
    result.got = bits[i];
  }
  return result;
}

}  // namespace

std::string StageResult::ToText() const {
  if (wrong == 0) return fmt::format("{}: {} elements within the contract", stage, compared);
  return fmt::format("{}: {} wrong, first {}: expected {}, got {}", stage,
                     CountText(wrong, compared), where, IntervalText(expected),
                     NumberText(ValueOfBf16(got)));
}

std::vector<StageResult> JudgeStages(const CaseContext& context, const RunRecord& run,
                                     const RouterExpected& router, const StageExpected& expected) {
  const Problem& problem = context.layer.problem;
  const StageBits& bits = run.stages;
  std::vector<StageResult> results;
  const auto judge = [&](std::string_view stage, const std::vector<std::uint16_t>& got,
                         const std::vector<Interval>& intervals, const Where& where) {
    // A stage of another extent is one that the path overwrites as it goes: not shown.
    if (got.empty() || got.size() != intervals.size()) return;
    results.push_back(JudgeStage(stage, got, intervals, where));
  };
  judge("router", bits.logits, router.stored, InToken(problem.RouterOutputs(), "expert"));
  judge("gate", bits.gate, expected.gate, InSlot(context, run, problem.inter));
  judge("up", bits.up, expected.up, InSlot(context, run, problem.inter));
  judge("down", bits.down, expected.down, InSlot(context, run, problem.hidden));
  judge("shared_gate", bits.shared_gate, expected.shared_gate,
        InToken(problem.SharedInter(), "row"));
  judge("shared_up", bits.shared_up, expected.shared_up, InToken(problem.SharedInter(), "row"));
  judge("shared_down", bits.shared_down, expected.shared_down, InToken(problem.hidden, "row"));
  return results;
}

const StageResult* FirstWrong(const std::vector<StageResult>& stages) {
  for (const StageResult& stage : stages)
    if (stage.wrong > 0) return &stage;
  return nullptr;
}

std::string KernelOf(const RunRecord& run, std::string_view stage) {
  std::vector<std::string_view> words;
  if (stage == "router") words = {"gate_gem", "router"};
  if (stage == "selection") words = {"topk"};
  if (stage.ends_with("gate") || stage.ends_with("up")) words = {"gate_up"};
  if (stage.ends_with("down")) words = {"down"};
  if (stage == "blend") words = {"blend"};
  const bool shared = stage.starts_with("shared_");
  std::string found;
  for (const LaunchInfo& launch : run.launches)
    for (const std::string_view word : words) {
      if (launch.kernel.find(word) == std::string::npos) continue;
      if (found.empty()) found = launch.kernel;
      // A path with kernels of its own for the shared expert says so in their names.
      if (shared && launch.kernel.find("shared") != std::string::npos) return launch.kernel;
    }
  return found;
}

std::string StageOfTensor(const std::string& tensor) {
  if (tensor == "logits") return "router";
  if (tensor == "ids" || tensor == "weights") return "selection";
  return tensor == "output" ? "blend" : tensor;
}

}  // namespace assay
