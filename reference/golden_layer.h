// A generic double evaluation of a MoE block from the description in cases.json: every router and
// expert variant that the goldens name. Independent of Problem and of the production contract.
#pragma once

#include <Eigen/Dense>
#include <string>
#include <vector>

#include "reference/expert_rule.h"
#include "reference/golden_parts.h"
#include "reference/json_document.h"
#include "reference/router_rule.h"
#include "reference/safetensors.h"

namespace assay {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Routed {
  int expert = 0;  // ids from `num_experts` on are zero experts
  double weight = 0;
};

struct LayerValues {
  RowMatrix router_logits;                  // [tokens, experts + zero experts]
  std::vector<std::vector<Routed>> routed;  // per token
  RowMatrix experts_input, experts_output, output, layer_output;  // [tokens, ...]; empty: none
};

// Throws UnsupportedProblem that names the field and value which is not built.
LayerValues EvaluateLayer(const Json& layer_case, const Safetensors& file);

// The parts, in order of evaluation.
RouterRule ReadRouterRule(const Json& layer_case);
RowMatrix RouterLogits(const Json& layer_case, const Safetensors& file, const RowMatrix& hidden);
std::vector<Routed> RouteToken(const Json& layer_case, const Safetensors& file,
                               const Eigen::VectorXd& logits, int token);
// Sum of the routed experts, one row a token.
RowMatrix RoutedOutput(const Json& layer_case, const Safetensors& file, const RowMatrix& input,
                       const std::vector<std::vector<Routed>>& routed);
// `part`: the experts or the shared expert.
ExpertRule ReadExpertRule(const Json& part);
RowMatrix SharedOutput(const Json& shared, const Safetensors& file, const RowMatrix& hidden);

// A tensor as a matrix; its leading dimensions are folded into the rows.
RowMatrix LoadMatrix(const Safetensors& file, const std::string& tensor);
Eigen::VectorXd LoadVector(const Safetensors& file, const std::string& tensor);
// x / sqrt(mean(x^2) + eps), times weight if the description names one, row by row.
RowMatrix RmsNorm(const Json& norm, const Safetensors& file, const RowMatrix& x);

// Throws UsageError that names `what`.
void RequireExtent(std::int64_t got, std::int64_t wanted, const std::string& what);
[[noreturn]] void NotBuilt(const std::string& field, const std::string& value);

}  // namespace assay
