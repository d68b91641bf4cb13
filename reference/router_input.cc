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

std::vector<double> ValuesOf(const std::vector<std::uint16_t>& scale) {
  std::vector<double> values;
  for (const std::uint16_t bits : scale) values.push_back(Bf16ToFloat(bits));
  return values;
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

void PutNormed(const std::vector<double>& x, const PreNorm& norm, Accumulation order, int row,
               NormedInput& normed) {
  const std::vector<double> exact = Normed(norm, x);
  const double error = NormError(x, order);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<Eigen::Index>(i);
    const double radius = error * std::fabs(exact[i]);
    const double low = RoundToBf16(exact[i] - radius), high = RoundToBf16(exact[i] + radius);
    normed.center(at, row) = (low + high) / 2;
    normed.radius(at, row) = (high - low) / 2;
    normed.exact(at, row) = exact[i];
  }
}

NormedInput Norm(const LayerData& layer, const PreNorm& norm, Accumulation order) {
  const Problem& p = layer.problem;
  NormedInput normed;
  for (Eigen::MatrixXd* matrix : {&normed.center, &normed.radius, &normed.exact})
    matrix->resize(p.hidden, p.rows);
  for (int row = 0; row < p.rows; ++row) PutNormed(TokenOf(layer, row), norm, order, row, normed);
  return normed;
}

NormedInput NormBeforeRouter(const LayerData& layer, Accumulation order) {
  const std::vector<double> scale = ValuesOf(layer.pre_norm_scale);
  return Norm(layer, {kRouterNormEps, {}, scale, 1 / std::sqrt(double(layer.problem.hidden))},
              order);
}

}  // namespace

NormedInput NormBeforeExperts(const LayerData& layer, Accumulation order) {
  const std::vector<double> scale = ValuesOf(layer.pre_expert_scale);
  return Norm(layer, {kRouterNormEps, {}, scale, 1}, order);
}

Operands RouterInput(const LayerData& layer, Accumulation order) {
  const Problem& p = layer.problem;
  Operands operands;
  operands.production.resize(p.hidden, p.rows);
  if (p.pre_norm) {
    const NormedInput normed = NormBeforeRouter(layer, order);
    operands.production = normed.center;
    operands.absolute.resize(p.hidden, 2 * p.rows);
    operands.absolute << normed.center.cwiseAbs() + normed.radius, normed.radius;
    operands.exact = normed.exact;
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
