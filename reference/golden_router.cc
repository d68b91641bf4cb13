// Routing of the goldens: the description as a router rule, its tensors, and their evaluation.
#include <cmath>

#include "reference/error.h"
#include "reference/golden_layer.h"
#include "reference/router_rule.h"

namespace assay {
namespace {

using Vector = Eigen::VectorXd;

std::vector<double> Values(const Safetensors& file, const Json& name) {
  return name.is_null() ? std::vector<double>{} : file.Doubles(name.get<std::string>());
}

// One value for each output, or none.
std::vector<double> OutputValues(const RouterRule& rule, const Safetensors& file,
                                 const Json& router, const char* field) {
  std::vector<double> values = Values(file, router.at(field));
  if (!values.empty())
    RequireExtent(std::int64_t(values.size()), rule.Outputs(),
                  "extent of the router's " + std::string(field));
  return values;
}

Scoring ScoringOf(const std::string& word) {
  if (word == "softmax") return Scoring::kSoftmax;
  if (word == "sigmoid") return Scoring::kSigmoid;
  if (word == "sqrtsoftplus") return Scoring::kSqrtsoftplus;
  NotBuilt("scoring", word);
}

ScoreScope ScopeOf(const std::string& word) {
  if (word == "selected_only") return ScoreScope::kSelectedOnly;
  if (word == "all_experts" || word == "masked_subset") return ScoreScope::kAllExperts;
  NotBuilt("score_scope", word);
}

SelectionKind SelectionOf(const std::string& word) {
  if (word == "topk") return SelectionKind::kTopk;
  if (word == "group_limited_topk") return SelectionKind::kGrouped;
  if (word == "hash_table") return SelectionKind::kHash;
  if (word == "sparsemixer") return SelectionKind::kSparsemixer;
  NotBuilt("selection", word);
}

GroupScore GroupScoreOf(const std::string& word) {
  if (word == "max") return GroupScore::kMax;
  if (word == "sum_top2") return GroupScore::kSumOfTwoBest;
  NotBuilt("group_score", word);
}

double FillOf(const Json& fill) {
  if (fill.is_number()) return fill.get<double>();
  if (fill == "-inf") return -std::numeric_limits<double>::infinity();
  NotBuilt("excluded_group_fill", fill.dump());
}

void ReadNorm(const Json& router, RouterRule& rule) {
  const Json& norm = router.at("norm");
  if (!router.at("norm_topk_prob").get<bool>() || norm.is_null()) return;
  if (norm.at("kind") == "p_norm") {
    rule.norm = WeightNorm::kPNorm;
    rule.p = norm.at("p");
    return;
  }
  if (norm.at("kind") != "sum") NotBuilt("norm", norm.at("kind"));
  const bool add = norm.at("eps_mode") == "add";
  if (!add && norm.at("eps_mode") != "clamp_min") NotBuilt("eps_mode", norm.at("eps_mode"));
  rule.norm = add ? WeightNorm::kSumPlusEps : WeightNorm::kSumAtLeastEps;
  rule.eps = norm.at("eps");
}

void ReadScaling(const Json& router, RouterRule& rule) {
  const std::string where = router.at("routed_scaling_applied_to");
  if (where == "routing_weights")
    rule.scaled_at = ScaledAt::kWeights;
  else if (where == "routed_output")
    rule.scaled_at = ScaledAt::kSummedOutput;
  else if (where != "none")
    NotBuilt("routed_scaling_applied_to", where);
  rule.scale = router.at("routed_scaling_factor");
}

void ReadGroups(const Json& router, RouterRule& rule) {
  if (rule.selection != SelectionKind::kGrouped) return;
  rule.groups = router.at("n_group");
  rule.groups_kept = router.at("topk_group");
  rule.group_score = GroupScoreOf(router.at("group_score"));
  rule.dropped_fill = FillOf(router.at("excluded_group_fill"));
}

// The row of the token's id.
std::vector<std::int64_t> HashRow(const Json& router, const Safetensors& file, int token) {
  const RowMatrix table = LoadMatrix(file, router.at("hash_table"));
  const auto row = static_cast<Eigen::Index>(file.Doubles("io.token_ids").at(token));
  if (row < 0 || row >= table.rows())
    throw UsageError("io.token_ids: token id " + std::to_string(row) + " leaves the hash table");
  std::vector<std::int64_t> ids;
  for (Eigen::Index slot = 0; slot < table.cols(); ++slot)
    ids.push_back(static_cast<std::int64_t>(table(row, slot)));
  return ids;
}

std::span<const double> AsSpan(const Vector& v) { return {v.data(), std::size_t(v.size())}; }

PreNorm ReadPreNorm(const Json& norm, const std::vector<double>& weight,
                    const std::vector<double>& scale_vector) {
  if (norm.at("kind") != "rmsnorm") NotBuilt("norm", norm.at("kind"));
  return {norm.at("eps"), weight, scale_vector, norm.value("scale_scalar", 1.0)};
}

RowMatrix RouterInput(const Json& norm, const Safetensors& file, const RowMatrix& hidden) {
  if (norm.is_null()) return hidden;
  const std::vector<double> weight = Values(file, norm.at("weight"));
  const std::vector<double> scales = Values(file, norm.at("scale_vector"));
  for (const std::vector<double>* values : {&weight, &scales})
    if (!values->empty())
      RequireExtent(std::int64_t(values->size()), hidden.cols(), "extent of the router's norm");
  const PreNorm rule = ReadPreNorm(norm, weight, scales);
  RowMatrix input = hidden;
  for (Eigen::Index row = 0; row < hidden.rows(); ++row) {
    const Vector x = hidden.row(row);
    const std::vector<double> y = Normed(rule, AsSpan(x));
    input.row(row) = Eigen::Map<const Eigen::RowVectorXd>(y.data(), hidden.cols());
  }
  return input;
}

}  // namespace

RouterRule ReadRouterRule(const Json& layer) {
  const Json& router = layer.at("router");
  RouterRule rule;
  rule.experts = layer.at("num_experts");
  rule.zero_experts = router.at("zero_expert_num");
  rule.top_k = layer.at("top_k");
  if (!router.at("logit_softcap").is_null()) rule.soft_cap = router.at("logit_softcap");
  rule.scoring = ScoringOf(router.at("scoring"));
  rule.scope = ScopeOf(router.at("score_scope"));
  rule.selection = SelectionOf(router.at("selection"));
  if (rule.selection == SelectionKind::kSparsemixer)
    rule.jitter = router.at("sparsemixer_jitter_eps");
  ReadGroups(router, rule);
  ReadNorm(router, rule);
  ReadScaling(router, rule);
  const std::string applied = router.at("weights_applied_to");
  rule.weights_on_input = applied == "expert_input";
  if (!rule.weights_on_input && applied != "expert_output") NotBuilt("weights_applied_to", applied);
  return rule;
}

RowMatrix RouterLogits(const Json& layer, const Safetensors& file, const RowMatrix& hidden) {
  const Json& router = layer.at("router");
  const RouterRule rule = ReadRouterRule(layer);
  const RowMatrix weight = LoadMatrix(file, router.at("weight"));
  RequireExtent(weight.rows(), rule.Outputs(), "outputs of the router's weight");
  RequireExtent(weight.cols(), hidden.cols(), "inputs of the router's weight");
  RowMatrix logits = RouterInput(router.at("pre_norm"), file, hidden) * weight.transpose();
  const std::vector<double> bias = OutputValues(rule, file, router, "bias");
  for (Eigen::Index e = 0; e < logits.cols(); ++e)
    for (Eigen::Index row = 0; row < logits.rows(); ++row)
      logits(row, e) = StoredLogit(rule, logits(row, e), bias.empty() ? 0 : bias.at(e));
  return logits;
}

std::vector<Routed> RouteToken(const Json& layer, const Safetensors& file, const Vector& logits,
                               int token) {
  const Json& router = layer.at("router");
  const RouterRule rule = ReadRouterRule(layer);
  const std::vector<double> correction = OutputValues(rule, file, router, "correction_bias");
  const std::vector<double> per_expert = OutputValues(rule, file, router, "per_expert_scale");
  std::vector<std::int64_t> hash;
  if (rule.selection == SelectionKind::kHash) hash = HashRow(router, file, token);
  const RoutedRow row = RouteRow(rule, {{}, correction, per_expert, hash}, AsSpan(logits));
  if (row.refusal) throw UsageError("token " + std::to_string(token) + ": " + *row.refusal);
  std::vector<Routed> routed;
  for (std::size_t i = 0; i < row.ids.size(); ++i) routed.push_back({row.ids[i], row.weights[i]});
  return routed;
}

}  // namespace assay
