#include "oracle/unwritten_check.h"

#include <fmt/format.h>

#include <bit>
#include <span>

#include "oracle/bf16_value.h"

namespace assay {
namespace {

struct Unwritten {
  std::int64_t count = 0, first = -1;
};

template <class T, class Test>
Unwritten Count(std::span<const T> values, const Test& unwritten) {
  Unwritten result;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!unwritten(values[i])) continue;
    if (result.count++ == 0) result.first = static_cast<std::int64_t>(i);
  }
  return result;
}

Finding ToFinding(const CaseContext& context, std::string_view tensor, const Unwritten& unwritten,
                  std::int64_t total, std::int64_t per_row, std::string_view column) {
  Finding finding = NewFinding(context, "unwritten", fmt::format("{}_unwritten", tensor));
  const auto row = unwritten.first / per_row, at = unwritten.first % per_row;
  finding.summary = fmt::format("{} of {} {} elements were never written; first: token {}, {} {}",
                                unwritten.count, total, tensor, row, column, at);
  AddEvidence(finding, "tensor", std::string(tensor));
  AddEvidence(finding, "first", fmt::format("token {}, {} {}", row, column, at));
  AddEvidence(finding, "unwritten", CountText(unwritten.count, total));
  return finding;
}

}  // namespace

std::vector<Finding> CheckUnwritten(const CaseContext& context, const RunRecord& run) {
  std::vector<Finding> findings;
  const Problem& problem = context.layer.problem;
  const auto add = [&](std::string_view tensor, const Unwritten& unwritten, std::size_t total,
                       int per_row, std::string_view column) {
    if (unwritten.count > 0)
      findings.push_back(ToFinding(context, tensor, unwritten, total, per_row, column));
  };
  add("output", Count<std::uint16_t>(run.output, [](auto bits) { return bits == kUnwrittenBf16; }),
      run.output.size(), problem.hidden, "column");
  // Ids and weights lie in scratch, which the first run fills with ones: no id and no weight that a
  // kernel computes has those bits (the canonical NaN of a weight is another).
  add("ids", Count<std::uint32_t>(run.ids, [](auto id) { return id == 0xFFFFFFFFu; }),
      run.ids.size(), problem.top_k, "slot");
  add("weights",
      Count<float>(run.weights,
                   [](float w) { return std::bit_cast<std::uint32_t>(w) == 0xFFFFFFFFu; }),
      run.weights.size(), problem.top_k, "slot");
  return findings;
}

}  // namespace assay
