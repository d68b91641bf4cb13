// mma m16n8k16 of a whole warp, BF16 operands and FP32 sums, with the bits of Hopper's tensor
// cores.
#pragma once

#include <array>
#include <cstdint>

#include "gpu/core/context.h"

namespace assay {

// One lane's registers, as the PTX manual lays them out over a warp: A two rows of two pairs of
// columns, B two pairs of rows of a column, C and D two rows of two columns.
struct MmaLane {
  const std::uint32_t *a = nullptr, *b = nullptr;  // [4], [2]
  float* c = nullptr;                              // [4], becomes D
};

// D = A B + C. A lane that has exited counts as zeros.
void MultiplyAccumulate(const std::array<MmaLane, kWarpSize>& lanes);

}  // namespace assay
