#include "oracle/same_bits.h"

#include <fmt/format.h>

#include <bit>

namespace assay {
namespace {

std::string ToText(std::uint16_t bits) { return Bf16Text(bits); }
std::string ToText(std::uint32_t id) { return fmt::to_string(id); }
std::string ToText(float weight) {
  return fmt::format("0x{:08x} ({})", std::bit_cast<std::uint32_t>(weight), NumberText(weight));
}

template <class T>
bool SameBits(const T& a, const T& b) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  else
    return a == b;
}

template <class T>
bool Explained(const FreeOrder* free, std::size_t at, const T& a, const T& b) {
  if constexpr (std::is_same_v<T, std::uint16_t>)
    return free != nullptr && free->Explains(at, a, b);
  else
    return false;
}

// `per_row` elements belong to one `row_name`.
template <class T>
std::optional<BitDifference> Compare(std::string_view tensor, const std::vector<T>& left,
                                     const std::vector<T>& right, std::string_view row_name,
                                     std::string_view column_name, int per_row,
                                     const FreeOrder* free = nullptr) {
  if (left.size() != right.size())
    return BitDifference{std::string(tensor),
                         0,
                         0,
                         0,
                         "its extent",
                         fmt::format("{} elements", left.size()),
                         fmt::format("{} elements", right.size())};
  BitDifference found{
      std::string(tensor), -1, 0, static_cast<std::int64_t>(left.size()), "", "", ""};
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (SameBits(left[i], right[i]) || Explained(free, i, left[i], right[i])) continue;
    if (found.count++ > 0) continue;
    found.index = static_cast<std::int64_t>(i);
    found.where = fmt::format("{} {}, {} {}", row_name, i / per_row, column_name, i % per_row);
    found.left = ToText(left[i]);
    found.right = ToText(right[i]);
  }
  if (found.count == 0) return std::nullopt;
  return found;
}

}  // namespace

void BitDifference::AddTo(Finding& finding, std::string_view left_name,
                          std::string_view right_name) const {
  AddEvidence(finding, "tensor", tensor);
  AddEvidence(finding, "first", where);
  AddEvidence(finding, left_name, left);
  AddEvidence(finding, right_name, right);
  AddEvidence(finding, "different", CountText(count, total));
}

std::optional<BitDifference> FirstDifference(const CaseContext& context, const RunRecord& left,
                                             const RunRecord& right, Compared compared,
                                             const FreeOrder* free) {
  const Problem& problem = context.layer.problem;
  const StageBits &a = left.stages, &b = right.stages;
  std::optional<BitDifference> found;
  const auto compare = [&](const auto&... arguments) {
    if (!found) found = Compare(arguments...);
  };
  const auto stage = [&](std::string_view name, const auto& x, const auto& y, std::string_view row,
                         std::string_view column, int width) {
    if (compared == Compared::kEverything && !found)
      found = Compare(name, x, y, row, column, width);
  };
  stage("logits", a.logits, b.logits, "token", "expert", problem.RouterOutputs());
  stage("logits_fp32", a.logits_fp32, b.logits_fp32, "token", "expert", problem.RouterOutputs());
  compare("ids", left.ids, right.ids, "token", "slot", problem.top_k);
  compare("weights", left.weights, right.weights, "token", "slot", problem.top_k);
  compare("identity_weights", left.identity_weights, right.identity_weights, "token", "weight", 1);
  stage("gate", a.gate, b.gate, "slot", "row", problem.inter);
  stage("up", a.up, b.up, "slot", "row", problem.inter);
  stage("down", a.down, b.down, "slot", "row", problem.hidden);
  stage("shared_gate", a.shared_gate, b.shared_gate, "token", "row", problem.SharedInter());
  stage("shared_up", a.shared_up, b.shared_up, "token", "row", problem.SharedInter());
  stage("shared_down", a.shared_down, b.shared_down, "token", "row", problem.hidden);
  compare("output", left.output, right.output, "token", "column", problem.hidden, free);
  return found;
}

}  // namespace assay
