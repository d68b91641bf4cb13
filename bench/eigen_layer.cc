#include "bench/eigen_layer.h"

#include "reference/bf16.h"
#include "reference/panels.h"

namespace assay {
namespace {

RowMajor Dense(const PackedMatrix& packed, CodePolicy codes) {
  RowMajor dense(packed.rows, packed.columns);
  std::vector<double> formed(packed.columns);
  for (int row = 0; row < packed.rows; ++row) {
    double* exact = dense.row(row).data();
    DecodeRow(packed, codes, row, ExactDiffers(packed.format) ? formed.data() : exact, exact);
  }
  return dense;
}

Eigen::MatrixXd Input(const LayerData& layer) {
  const Problem& p = layer.problem;
  Eigen::MatrixXd input(p.hidden, p.rows);
  for (Eigen::Index i = 0; i < input.size(); ++i) input.data()[i] = Bf16ToFloat(layer.input[i]);
  return input;
}

using Uses = std::map<int, std::vector<std::pair<int, double>>>;  // expert -> (row, weight)

Uses UsesOf(const Selection& selection, int top_k) {
  Uses uses;
  for (std::size_t slot = 0; slot < selection.ids.size(); ++slot)
    uses[static_cast<int>(selection.ids[slot])].emplace_back(static_cast<int>(slot) / top_k,
                                                             selection.weights[slot]);
  return uses;
}

}  // namespace

EigenLayer::EigenLayer(const LayerData& layer) : layer_(layer), input_(Input(layer)) {
  const CodePolicy codes = layer.problem.codes;
  for (const auto& [id, expert] : layer.experts)
    experts_[id] = {Dense(expert.gate, codes), Dense(expert.up, codes), Dense(expert.down, codes)};
}

Eigen::MatrixXd EigenLayer::Evaluate(const Selection& selection) const {
  Eigen::MatrixXd output = Eigen::MatrixXd::Zero(input_.rows(), input_.cols());
  for (const auto& [id, tokens] : UsesOf(selection, layer_.problem.top_k)) {
    const DenseExpert& expert = experts_.at(id);
    const auto count = static_cast<Eigen::Index>(tokens.size());
    Eigen::MatrixXd x(input_.rows(), count);
    for (Eigen::Index i = 0; i < count; ++i) x.col(i) = input_.col(tokens[i].first);
    const Eigen::MatrixXd gate = expert.gate * x, up = expert.up * x;
    const auto silu = [](double g) { return g / (1 + std::exp(-g)); };
    const Eigen::MatrixXd hidden = gate.unaryExpr(silu).cwiseProduct(up);
    const Eigen::MatrixXd down = expert.down * hidden;
    for (Eigen::Index i = 0; i < count; ++i)
      output.col(tokens[i].first) += tokens[i].second * down.col(i);
  }
  return output;
}

Selection SpreadSelection(const Problem& problem, bool identical) {
  Selection selection;
  for (int slot = 0; slot < problem.rows * problem.top_k; ++slot) {
    const int expert = identical ? slot % problem.top_k : slot % problem.experts;
    selection.ids.push_back(static_cast<std::uint32_t>(expert));
    selection.weights.push_back(1.0f / static_cast<float>(problem.top_k));
  }
  return selection;
}

}  // namespace assay
