// The experts of a layer in real arithmetic on exact weights, without rounding points or bounds.
#pragma once

#include <Eigen/Dense>
#include <vector>

#include "reference/expert_rule.h"
#include "reference/layer_data.h"

namespace assay {

// One expert, and by token that uses it: the token and the factor of its result.
struct ExactBatch {
  const ExpertWeights* weights = nullptr;
  std::vector<int> rows;
  std::vector<double> factors;
};

// Sum over all uses of factor * down(rule(gate x, up x)), [hidden, tokens]; `input` is
// [hidden, tokens]. Deterministic: the order of every sum does not depend on the threads.
Eigen::MatrixXd ExactSum(const std::vector<ExactBatch>& batches, const Eigen::MatrixXd& input,
                         CodePolicy codes, const ExpertRule& rule);

}  // namespace assay
