// Aggregated residuals: how far outputs lie from the exact ones, in units of what the contract's
// roundings explain. Each rounding to BF16 is taken as an independent uniform error of half a unit
// in the last place; sums in FP32 are far below. The mean of z^2 is then near one; truncation, a
// rounding point more or less, or a gain move it, although no element leaves its bound.
#pragma once

#include <span>
#include <vector>

#include "reference/expected.h"
#include "reference/rounding_contract.h"

namespace assay {

struct ResidualModel {
  std::vector<double> exact;     // [rows, hidden], no rounding anywhere
  std::vector<double> variance;  // [rows, hidden], of a stored output, its own rounding included
};

// Contracts that quantise activations throw UnsupportedProblem: their errors are neither small nor
// independent of the value.
ResidualModel ModelResiduals(const LayerData& layer, const Contract& contract,
                             const Selection& selection);

// Means of z^2 = (output - exact)^2 / variance.
struct MeanSquares {
  double all = 0;
  std::vector<double> rows;     // one a token
  std::vector<double> columns;  // one a hidden channel
};
// `output` is [rows, hidden], as stored. Elements of variance 0 count only if they differ, as
// infinite.
MeanSquares Residuals(const ResidualModel& model, std::span<const double> output, int rows);

// How far a mean over one token's `hidden` outputs may lie from one: 5.2 sqrt(2 / nu), 1e-7 of a
// normal variable on either side; coordinates share the errors of the hidden layer, so that
// nu = hidden / 4 and not hidden.
double RowLimit(int hidden);

}  // namespace assay
