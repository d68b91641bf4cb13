#include "reference/router_input.h"

#include <cmath>

#include "reference/interval.h"
#include "reference/router_rule.h"

namespace assay {
namespace {

std::vector<double> TokenOf(const LayerData& layer, int row) {
  const auto hidden = static_cast<std::size_t>(layer.problem.hidden);
  std::vector<double> x;
  for (std::size_t i = 0; i < hidden; ++i)
    x.push_back(Bf16ToFloat(layer.input[std::size_t(row) * hidden + i]));
  return x;
}

std::vector<double> ScaleOf(const LayerData& layer) {
  std::vector<double> scale;
  for (const std::uint16_t bits : layer.pre_norm_scale) scale.push_back(Bf16ToFloat(bits));
  return scale;
}

// Relative error of the FP32 norm before its rounding. The sum of squares errs by its bound; a mean
// (two roundings, 1/hidden and a product) and + eps follow; the root halves their error. The
// reciprocal root within two units in the last place (4u), hidden^-0.5 the same, three products.
double NormError(std::span<const double> x, Accumulation order) {
  SumSize squares{static_cast<double>(x.size())};
  for (const double v : x) {
    squares.magnitude += v * v;
    squares.partials += squares.magnitude;
  }
  if (squares.magnitude == 0) return 0;
  const double sum = AccumulationBound(order, squares) / squares.magnitude;
  return 1.01 * ((sum + 3 * kUnitFp32) / 2 + (4 + 4 + 3) * kUnitFp32);
}

void PutNormed(const LayerData& layer, int row, Accumulation order, Operands& operands) {
  const std::vector<double> x = TokenOf(layer, row), scale = ScaleOf(layer);
  const double root = 1 / std::sqrt(static_cast<double>(x.size()));
  const std::vector<double> exact = Normed({kRouterNormEps, {}, scale, root}, x);
  const double error = NormError(x, order);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double radius = error * std::fabs(exact[i]);
    const double low = RoundToBf16(exact[i] - radius), high = RoundToBf16(exact[i] + radius);
    const double center = (low + high) / 2;
    operands.production(at, row) = center;
    operands.absolute(at, row) = std::fabs(center) + (high - low) / 2;
    operands.absolute(at, layer.problem.rows + row) = (high - low) / 2;
    operands.exact(at, row) = exact[i];
  }
}

}  // namespace

Operands RouterInput(const LayerData& layer, Accumulation order) {
  const Problem& p = layer.problem;
  Operands operands;
  operands.production.resize(p.hidden, p.rows);
  if (p.pre_norm) {
    operands.absolute.resize(p.hidden, 2 * p.rows);
    operands.exact.resize(p.hidden, p.rows);
    for (int row = 0; row < p.rows; ++row) PutNormed(layer, row, order, operands);
    return operands;
  }
  for (int row = 0; row < p.rows; ++row)
    for (int i = 0; i < p.hidden; ++i)
      operands.production(i, row) = Bf16ToFloat(layer.input[std::size_t(row) * p.hidden + i]);
  operands.absolute = operands.production.cwiseAbs();
  operands.exact.resize(p.hidden, 0);
  if (layer.packed_router) operands.exact = operands.production;
  return operands;
}

}  // namespace assay
