#include "reference/exact_stages.h"

#include <algorithm>

#include "reference/bf16.h"
#include "reference/panels.h"

namespace assay {
namespace {

Eigen::MatrixXd Gather(const ExactBatch& batch, const Eigen::MatrixXd& input) {
  Eigen::MatrixXd columns(input.rows(), Eigen::Index(batch.columns.size()));
  for (Eigen::Index i = 0; i < columns.cols(); ++i) columns.col(i) = input.col(batch.columns[i]);
  return columns;
}

// Waking threads for fewer weights costs more than it saves.
constexpr std::int64_t kFewWeights = 1 << 20;

struct Product {
  const PackedMatrix* matrix;
  Eigen::MatrixXd* sums;
};

struct Task {
  Product product;
  int first, count;
};

// All products with the same operands, by panels over all threads.
void Multiply(const std::vector<Product>& products, const Eigen::MatrixXd& operands,
              CodePolicy codes) {
  std::vector<Task> tasks;
  std::int64_t weights = 0;
  for (const Product& product : products) {
    product.sums->setZero(product.matrix->rows, operands.cols());
    weights += std::int64_t{product.matrix->rows} * product.matrix->columns;
    const int step = PanelRows(static_cast<int>(operands.cols()));
    for (int first = 0; first < product.matrix->rows; first += step)
      tasks.push_back({product, first, std::min(step, product.matrix->rows - first)});
  }
#pragma omp parallel for schedule(dynamic) if (weights > kFewWeights)
  for (std::size_t i = 0; i < tasks.size(); ++i)
    MultiplyExactPanel(*tasks[i].product.matrix, codes, operands, tasks[i].first, tasks[i].count,
                       *tasks[i].product.sums);
}

void AddBias(const std::vector<std::uint16_t>& bias, Eigen::MatrixXd& sums) {
  for (std::size_t i = 0; i < bias.size(); ++i)
    sums.row(static_cast<Eigen::Index>(i)).array() += double{Bf16ToFloat(bias[i])};
}

void GateAndUp(const ExpertWeights& weights, const Eigen::MatrixXd& input, CodePolicy codes,
               bool gated, Eigen::MatrixXd& gate, Eigen::MatrixXd& up) {
  if (gated)
    Multiply({{&weights.gate, &gate}, {&weights.up, &up}}, input, codes);
  else
    Multiply({{&weights.up, &up}}, input, codes);
  AddBias(weights.gate_bias, gate);
  AddBias(weights.up_bias, up);
  if (!gated) gate = up;
}

}  // namespace

Eigen::MatrixXd ExactSum(const std::vector<ExactBatch>& batches, const Eigen::MatrixXd& input,
                         CodePolicy codes, const ExpertRule& rule) {
  Eigen::MatrixXd output = Eigen::MatrixXd::Zero(input.rows(), input.cols());
  Eigen::MatrixXd gate, up, down;
  for (const ExactBatch& batch : batches) {
    GateAndUp(*batch.weights, Gather(batch, input), codes, rule.gated, gate, up);
    gate = gate.binaryExpr(up, [&](double g, double u) { return HiddenValue(rule, g, u); });
    Multiply({{&batch.weights->down, &down}}, gate, codes);
    AddBias(batch.weights->down_bias, down);
    for (Eigen::Index i = 0; i < down.cols(); ++i)
      output.col(batch.columns[i]) += batch.factors[i] * down.col(i);
  }
  return output;
}

}  // namespace assay
