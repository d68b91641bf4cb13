// Products of a packed matrix with a few vectors, a panel of rows at a time: the panel is decoded
// once, to the weights as the kernels form them and to the exact ones.
#pragma once

#include <Eigen/Dense>

#include "reference/layer_data.h"

namespace assay {

// Each member is [inner dimension, vectors]; absolute meets |weight|.
struct Operands {
  Eigen::MatrixXd production, absolute, exact;
  bool want_partials = false;
  // exact holds the same numbers as production, all of them FP32 numbers: its products are then
  // those of production and a correction.
  bool exact_is_production = false;
};

// The operands that products in FP32 take. Magnitudes are not below the value: a tiny operand may
// meet a large weight, so it may not become 0.
struct Fp32Operands {
  Eigen::MatrixXf absolute, production;  // production: only for corrections
};
Fp32Operands InFp32(const Operands& operands);

// Each member is [matrix rows, vectors]. partials (if wanted): a bound on the sum of the magnitudes
// of the partial sums of production, taken in the order of the inputs.
struct Sums {
  Eigen::MatrixXd production, absolute, exact, partials;
  void Resize(int rows, const Operands& operands);
};

// One row of weights. NVFP4: production fl32(e2m1 * fl32(e4m3 * global)), exact the real product;
// all other formats: both the same, and `exact` is left alone.
void DecodeRow(const PackedMatrix& matrix, CodePolicy policy, int row, double* production,
               double* exact);
constexpr bool ExactDiffers(Format format) { return format == Format::kNvfp4; }

// Rows of a panel for so many vectors.
int PanelRows(int vectors);

// sums.rows [first, first + count) += weights * operands; absolute is an upper bound, above by a
// few 2^-16. Sums must come from Resize; `fp32` is
// InFp32(operands).
void MultiplyPanel(const PackedMatrix& matrix, CodePolicy policy, const Operands& operands,
                   const Fp32Operands& fp32, int first, int count, Sums& sums);

// Exact products alone: sums [matrix rows, vectors], rows [first, first + count), += weights *
// operands. Decodes a tile of a few hundred inputs at a time.
void MultiplyExactPanel(const PackedMatrix& matrix, CodePolicy policy,
                        const Eigen::MatrixXd& operands, int first, int count,
                        Eigen::MatrixXd& sums);

// The whole matrix, on one thread.
Sums Multiply(const PackedMatrix& matrix, CodePolicy policy, const Operands& operands);

}  // namespace assay
