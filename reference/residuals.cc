#include "reference/residuals.h"

#include <algorithm>
#include <cmath>

#include "reference/bf16.h"
#include "reference/error.h"
#include "reference/expert_rule.h"
#include "reference/fp32_error.h"
#include "reference/panels.h"

namespace assay {
namespace {

// Variance of rounding x to BF16: uniform over one unit in the last place.
double StoreVariance(Store store, double x) {
  if (store != Store::kBf16 || x == 0) return 0;
  const double ulp = std::ldexp(1, std::max(std::ilogb(x), -126) - 7);
  return ulp * ulp / 12;
}

struct Matrix {
  const PackedMatrix& packed;
  CodePolicy codes;

  // y = W x and v = W^2 s, by rows.
  void Times(const std::vector<double>& x, const std::vector<double>& s, std::vector<double>& y,
             std::vector<double>& v) const {
    std::vector<double> formed(packed.columns), exact(packed.columns);
    const double* weights = ExactDiffers(packed.format) ? exact.data() : formed.data();
    for (int row = 0; row < packed.rows; ++row) {
      DecodeRow(packed, codes, row, formed.data(), exact.data());
      double sum = 0, square = 0;
      for (int i = 0; i < packed.columns; ++i) {
        sum += weights[i] * x[i];
        square += weights[i] * weights[i] * s[i];
      }
      y.push_back(sum);
      v.push_back(square);
    }
  }
};

struct Values {
  std::vector<double> exact, variance;
};

// Of the hidden value, from the roundings of gate and up and its own.
double HiddenVariance(const Contract& c, double gate, double up, double hidden) {
  const double step = 1e-6;
  const auto at = [&](double g, double u) { return HiddenValue(c.expert, g, u); };
  const double by_gate = (at(gate + step, up) - at(gate - step, up)) / (2 * step);
  const double by_up = (at(gate, up + step) - at(gate, up - step)) / (2 * step);
  return by_gate * by_gate * StoreVariance(c.gate_up, gate) +
         by_up * by_up * StoreVariance(c.gate_up, up) + StoreVariance(c.act, hidden);
}

Values RunExpert(const Contract& c, const ExpertWeights& e, CodePolicy codes,
                 const std::vector<double>& x) {
  std::vector<double> gate, up, unused, nothing(x.size());
  Matrix{e.up, codes}.Times(x, nothing, up, unused);
  if (c.expert.gated)
    Matrix{e.gate, codes}.Times(x, nothing, gate, unused);
  else
    gate = up;
  Values hidden, down;
  for (std::size_t i = 0; i < gate.size(); ++i) {
    hidden.exact.push_back(HiddenValue(c.expert, gate[i], up[i]));
    hidden.variance.push_back(HiddenVariance(c, gate[i], up[i], hidden.exact[i]));
  }
  Matrix{e.down, codes}.Times(hidden.exact, hidden.variance, down.exact, down.variance);
  for (std::size_t i = 0; i < down.exact.size(); ++i)
    down.variance[i] += StoreVariance(c.down, down.exact[i]);
  return down;
}

void Add(Values& sum, double weight, const Values& term) {
  for (std::size_t i = 0; i < sum.exact.size(); ++i) {
    sum.exact[i] += weight * term.exact[i];
    sum.variance[i] += weight * weight * term.variance[i];
  }
}

void RoundOutput(Values& sum) {
  for (std::size_t i = 0; i < sum.exact.size(); ++i)
    sum.variance[i] += StoreVariance(Store::kBf16, sum.exact[i]);
}

double SharedFactor(const LayerData& layer, const std::vector<double>& x) {
  if (layer.shared_gate.empty()) return 1;
  double dot = 0;
  for (std::size_t i = 0; i < x.size(); ++i) dot += x[i] * Bf16ToFloat(layer.shared_gate[i]);
  return Sigmoid(dot);
}

Values RunRow(const LayerData& layer, const Contract& c, const Selection& s, int row) {
  const Problem& p = layer.problem;
  std::vector<double> x;
  for (int i = 0; i < p.hidden; ++i)
    x.push_back(Bf16ToFloat(layer.input[std::size_t(row) * p.hidden + i]));
  Values sum{std::vector<double>(p.hidden), std::vector<double>(p.hidden)};
  for (int slot = row * p.top_k; slot < (row + 1) * p.top_k; ++slot)
    Add(sum, s.weights[slot],
        RunExpert(c, layer.experts.at(static_cast<int>(s.ids[slot])), p.codes, x));
  if (layer.shared) {
    if (c.blend == Blend::kTwoRoundings) RoundOutput(sum);
    Add(sum, SharedFactor(layer, x), RunExpert(c, *layer.shared, p.codes, x));
  }
  RoundOutput(sum);
  return sum;
}

}  // namespace

ResidualModel ModelResiduals(const LayerData& layer, const Contract& contract,
                             const Selection& selection) {
  if (contract.input.element != CodeElement::kNone || contract.hidden.element != CodeElement::kNone)
    throw UnsupportedProblem("contract=" + std::string(contract.name) +
                             ": residuals of quantised activations are not built");
  const Problem& p = layer.problem;
  if (p.expert_bias || p.zero_experts > 0 || p.router == RouterKind::kSigmoidTop1 || p.ep > 1)
    throw UnsupportedProblem(
        "residuals: biases, ranks, identity experts and weights on inputs are not built");
  Contract with_experts = contract;
  with_experts.expert = ExpertRuleFor(p);
  ResidualModel model;
  for (int row = 0; row < layer.problem.rows; ++row) {
    const Values values = RunRow(layer, with_experts, selection, row);
    model.exact.insert(model.exact.end(), values.exact.begin(), values.exact.end());
    model.variance.insert(model.variance.end(), values.variance.begin(), values.variance.end());
  }
  return model;
}

MeanSquares Residuals(const ResidualModel& model, std::span<const double> output, int rows) {
  const std::size_t hidden = output.size() / rows;
  MeanSquares means{0, std::vector<double>(rows), std::vector<double>(hidden)};
  for (std::size_t i = 0; i < output.size(); ++i) {
    const double off = output[i] - model.exact[i];
    const double square = off == 0 ? 0 : off * off / model.variance[i];
    means.all += square / static_cast<double>(output.size());
    means.rows[i / hidden] += square / static_cast<double>(hidden);
    means.columns[i % hidden] += square / rows;
  }
  return means;
}

double RowLimit(int hidden) { return 5.2 * std::sqrt(2 / (hidden / 4.0)); }

}  // namespace assay
