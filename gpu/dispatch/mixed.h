// A BF16 shared expert beside FP4 experts: the fused kernels get no shared pointers, a pass of its
// own computes the shared expert afterwards. It may be of another width.
#pragma once

#include "reference/formats.h"

namespace assay {

constexpr bool IsMixed(const Problem& p) { return p.shared == Format::kBf16 && IsFp4(p.format); }

}  // namespace assay
