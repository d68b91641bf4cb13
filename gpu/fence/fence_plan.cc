#include "gpu/fence/fence_plan.h"

#include <algorithm>
#include <map>

namespace assay {
namespace {

std::size_t RoundUp(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

void Group(const std::vector<TensorSize>& tensors, FencePlan& plan) {
  std::map<std::string, int> index;
  for (int tensor = 0; tensor < static_cast<int>(tensors.size()); ++tensor) {
    const std::string operand = OperandOf(tensors[tensor].name);
    const auto [at, added] = index.emplace(operand, static_cast<int>(plan.operands.size()));
    if (added) plan.operands.push_back({operand, 0, 0, {}, ""});
    plan.operands[at->second].tensors.push_back(tensor);
    plan.places[tensor].operand = at->second;
  }
}

// The tensor that lies at the fence comes last (back) or first (front); the others keep their
// order, round and round.
void Rotate(const FenceOptions& options, std::vector<int>& tensors) {
  const auto count = static_cast<int>(tensors.size());
  const int chosen = options.rotation % count;
  const int first = options.side == Side::kBack ? (chosen + 1) % count : chosen;
  std::rotate(tensors.begin(), tensors.begin() + first, tensors.end());
}

void LayOut(const std::vector<TensorSize>& tensors, const FenceOptions& options,
            std::size_t alignment, FencedOperand& operand, FencePlan& plan) {
  Rotate(options, operand.tensors);
  std::size_t used = 0;
  for (const int tensor : operand.tensors) {
    plan.places[tensor].offset = used;
    used += RoundUp(tensors[tensor].bytes, alignment);
  }
  const bool back = options.side == Side::kBack;
  const TensorSize& last = tensors[back ? operand.tensors.back() : operand.tensors.front()];
  operand.bytes = used;
  operand.at_fence = last.name;
  operand.blind = back ? RoundUp(last.bytes, alignment) - last.bytes : 0;
}

}  // namespace

std::string OperandOf(std::string_view tensor) {
  const auto open = tensor.find('['), close = tensor.find(']');
  if (open == tensor.npos || close == tensor.npos || close < open) return std::string(tensor);
  return std::string(tensor.substr(0, open)) + std::string(tensor.substr(close + 1));
}

FencePlan PlanFence(const std::vector<TensorSize>& tensors, const FenceOptions& options,
                    std::size_t alignment) {
  FencePlan plan;
  plan.places.resize(tensors.size());
  Group(tensors, plan);
  for (FencedOperand& operand : plan.operands) LayOut(tensors, options, alignment, operand, plan);
  return plan;
}

}  // namespace assay
