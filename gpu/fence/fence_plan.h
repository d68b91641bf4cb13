// Where tensors lie when every operand has a fence of its own: all tensors of an operand (one
// projection's scales of every expert, say) in one block, flush with the end that meets unmapped
// memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class Side { kBack, kFront };  // what meets the fence: the operand's last byte or its first

struct FenceOptions {
  Side side = Side::kBack;
  int rotation = 0;  // which expert of each operand lies at the fence: rotation modulo their number
  std::string slack;  // this operand alone gets no fence, but mapped poison around it: "" is none
};

struct TensorSize {
  std::string name;  // "gate[5].scale"
  std::size_t bytes = 0;
};

// One operand's block.
struct FencedOperand {
  std::string name;          // "gate.scale"
  std::size_t bytes = 0;     // of the block, up to the fence
  std::size_t blind = 0;     // bytes at the fence that belong to nobody: its alignment
  std::vector<int> tensors;  // indices, in their order in the block
  std::string at_fence;      // the tensor there
};

struct FencePlan {
  std::vector<FencedOperand> operands;  // in order of first appearance
  struct Place {
    int operand = 0;
    std::size_t offset = 0;  // in the operand's block
  };
  std::vector<Place> places;  // by tensor
};

// "gate[5].scale" -> "gate.scale".
std::string OperandOf(std::string_view tensor);

// Tensors start at multiples of `alignment` (a power of two), as an allocator of the engine would
// place them.
FencePlan PlanFence(const std::vector<TensorSize>& tensors, const FenceOptions& options,
                    std::size_t alignment = 16);

}  // namespace assay
