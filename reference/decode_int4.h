// INT4 weights in packed matrices, in GPTQ's order: payload words of eight inputs of one output
// [columns/8, rows], FP16 scales [columns/group, rows], zero points less one in words of eight
// outputs [columns/group, rows/8].
#pragma once

#include "reference/layer_data.h"

namespace assay {

// One row of exact weights, (code - zero point) * scale.
void DecodeInt4Row(const PackedMatrix& matrix, int row, double* out);

}  // namespace assay
