// FP8 weights in packed matrices, row-major. Block: E4M3 [rows, columns], FP32 scales
// [ceil(rows/128), ceil(columns/128)]. Channel: FP32 scales [rows]. MXFP8: E8M0 scales
// [rows, columns/32], the last group may be cut off.
#pragma once

#include "reference/formats.h"
#include "reference/layer_data.h"

namespace assay {

// One row of exact weights.
void DecodeFp8Row(const PackedMatrix& matrix, CodePolicy policy, int row, double* out);

}  // namespace assay
