// What the router multiplies: the layer's input, or its norm (router pre-norm); and what routed
// experts multiply behind a norm of their own.
#pragma once

#include "reference/contract.h"
#include "reference/layer_data.h"
#include "reference/panels.h"

namespace assay {

// The norm before a router: bf16(x / sqrt(mean(x^2) + eps) * (scale * hidden^-0.5)), in FP32 up to
// its one rounding; before experts the same without hidden^-0.5.
inline constexpr double kRouterNormEps = 1e-6;

// A norm's results, [hidden, rows]: what is stored lies within `radius` of `center`.
struct NormedInput {
  Eigen::MatrixXd center, radius, exact;
};
// `order` is that of the sum of squares.
NormedInput NormBeforeExperts(const LayerData& layer, Accumulation order);

// Columns are tokens; no column of `exact`: production is exact. Values that the norm's FP32
// evaluation may round either way are balls: absolute then holds magnitudes of all tokens and radii
// of all tokens. `order` is that of the sum of squares.
Operands RouterInput(const LayerData& layer, Accumulation order);

}  // namespace assay
