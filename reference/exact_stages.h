// The experts of a layer in real arithmetic on exact weights, without rounding points or bounds.
#pragma once

#include <Eigen/Dense>
#include <vector>

#include "reference/expert_rule.h"
#include "reference/layer_data.h"

namespace assay {

// One expert, and by use of it: the column of the input and the factor of the result.
struct ExactBatch {
  const ExpertWeights* weights = nullptr;
  std::vector<int> columns;
  std::vector<double> factors;
};

// Sum over all uses of factor * down(rule(gate x, up x)), biases included, by column of the input;
// input and result are [hidden, columns]. Deterministic: the order of every sum does not depend on
// the threads.
Eigen::MatrixXd ExactSum(const std::vector<ExactBatch>& batches, const Eigen::MatrixXd& input,
                         CodePolicy codes, const ExpertRule& rule);

}  // namespace assay
