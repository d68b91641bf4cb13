// Routing of the goldens: scores, selection, normalisation, scaling.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "reference/error.h"
#include "reference/golden_layer.h"
#include "reference/routing.h"

namespace assay {
namespace {

using Vector = Eigen::VectorXd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::span<const double> AsSpan(const Vector& v) { return {v.data(), std::size_t(v.size())}; }

Vector Softmax(const Vector& logits) {
  const Vector e = (logits.array() - logits.maxCoeff()).exp();
  return e / e.sum();
}

// log(1 + exp(x)) without overflow for large x or loss for small x.
double Softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }

Vector Scores(const std::string& scoring, const Vector& logits) {
  if (scoring == "softmax") return Softmax(logits);
  if (scoring == "sigmoid")
    return logits.unaryExpr([](double x) { return 1 / (1 + std::exp(-x)); });
  if (scoring == "sqrtsoftplus")
    return logits.unaryExpr([](double x) { return std::sqrt(Softplus(x)); });
  NotBuilt("scoring", scoring);
}

double GroupScore(const std::string& rule, std::vector<double> members) {
  std::sort(members.rbegin(), members.rend());
  if (rule == "max") return members[0];
  if (rule == "sum_top2") return members[0] + members[1];
  NotBuilt("group_score", rule);
}

double FillValue(const Json& fill) {
  if (fill.is_number()) return fill.get<double>();
  if (fill == "-inf") return -kInfinity;
  NotBuilt("excluded_group_fill", fill.dump());
}

// Scores of the groups that are not kept become the fill value.
Vector MaskGroups(const Json& router, const Vector& biased) {
  const int groups = router.at("n_group");
  const Eigen::Index size = biased.size() / groups;
  std::vector<double> group_scores;
  for (int g = 0; g < groups; ++g) {
    const Vector members = biased.segment(g * size, size);
    group_scores.push_back(
        GroupScore(router.at("group_score"), {members.data(), members.data() + size}));
  }
  Vector masked = Vector::Constant(biased.size(), FillValue(router.at("excluded_group_fill")));
  for (const int g : TopK(group_scores, router.at("topk_group")))
    masked.segment(g * size, size) = biased.segment(g * size, size);
  return masked;
}

std::vector<int> HashIds(const Json& router, const Safetensors& file, int token, int top_k) {
  const RowMatrix table = LoadMatrix(file, router.at("hash_table"));
  const auto row = static_cast<Eigen::Index>(file.Doubles("io.token_ids").at(token));
  if (row < 0 || row >= table.rows() || table.cols() != top_k)
    throw UsageError("io.token_ids: token id " + std::to_string(row) + " leaves the hash table");
  std::vector<int> ids;
  for (int slot = 0; slot < top_k; ++slot) ids.push_back(static_cast<int>(table(row, slot)));
  return ids;
}

// Weight of the winner `best`: its softmax among experts not in `removed` that lie near enough.
double SparsemixerWeight(const Vector& logits, double jitter, int best, int removed) {
  const double max = logits[best];
  double sum = 0;
  for (int e = 0; e < logits.size(); ++e) {
    const double scale = std::max(std::fabs(logits[e]), max);
    if (e != removed && (max - logits[e]) / scale <= 2 * jitter) sum += std::exp(logits[e] - max);
  }
  return 1 / sum;
}

std::vector<Routed> Sparsemixer(const Json& router, const Vector& logits) {
  const double jitter = router.at("sparsemixer_jitter_eps");
  const std::vector<int> best = TopK(AsSpan(logits), 2);
  return {{best[0], SparsemixerWeight(logits, jitter, best[0], -1)},
          {best[1], SparsemixerWeight(logits, jitter, best[1], best[0])}};
}

Vector SelectionValues(const Json& router, const Safetensors& file, const Vector& values) {
  Vector biased = values;
  if (!router.at("correction_bias").is_null())
    biased += LoadVector(file, router.at("correction_bias"));
  return router.at("selection") == "group_limited_topk" ? MaskGroups(router, biased) : biased;
}

double NormOf(const Json& norm, const std::vector<Routed>& routed) {
  const bool p_norm = norm.at("kind") == "p_norm";
  if (!p_norm && norm.at("kind") != "sum") NotBuilt("norm", norm.at("kind"));
  const double p = p_norm ? norm.at("p").get<double>() : 1.0;
  double sum = 0;
  for (const Routed& r : routed) sum += p_norm ? std::pow(std::fabs(r.weight), p) : r.weight;
  if (p_norm) return std::pow(sum, 1 / p);
  const double eps = norm.at("eps");
  if (norm.at("eps_mode") == "clamp_min") return std::max(sum, eps);
  if (norm.at("eps_mode") != "add") NotBuilt("eps_mode", norm.at("eps_mode"));
  return sum + eps;
}

void FinishWeights(const Json& router, const Safetensors& file, std::vector<Routed>& routed) {
  if (router.at("norm_topk_prob").get<bool>() && !router.at("norm").is_null()) {
    const double norm = NormOf(router.at("norm"), routed);
    for (Routed& r : routed) r.weight /= norm;
  }
  if (router.at("routed_scaling_applied_to") == "routing_weights")
    for (Routed& r : routed) r.weight *= router.at("routed_scaling_factor").get<double>();
  if (router.at("per_expert_scale").is_null()) return;
  const Vector scale = LoadVector(file, router.at("per_expert_scale"));
  for (Routed& r : routed) r.weight *= scale[r.expert];
}

std::vector<int> Select(const Json& layer, const Safetensors& file, const Vector& values,
                        int token) {
  const Json& router = layer.at("router");
  const std::string selection = router.at("selection");
  if (selection == "hash_table") return HashIds(router, file, token, layer.at("top_k"));
  if (selection != "topk" && selection != "group_limited_topk") NotBuilt("selection", selection);
  return TopK(AsSpan(SelectionValues(router, file, values)), layer.at("top_k"));
}

Vector Gather(const Vector& from, const std::vector<int>& ids) {
  Vector chosen(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) chosen[i] = from[ids[i]];
  return chosen;
}

}  // namespace

RowMatrix RouterLogits(const Json& router, const Safetensors& file, const RowMatrix& hidden) {
  RowMatrix input = hidden;
  if (const Json& norm = router.at("pre_norm"); !norm.is_null()) {
    input = RmsNorm(norm, file, input);
    if (!norm.at("scale_vector").is_null())
      input *= LoadVector(file, norm.at("scale_vector")).asDiagonal();
    input *= norm.value("scale_scalar", 1.0);
  }
  RowMatrix logits = input * LoadMatrix(file, router.at("weight")).transpose();
  if (!router.at("bias").is_null())
    logits.rowwise() += LoadVector(file, router.at("bias")).transpose();
  if (const Json& cap = router.at("logit_softcap"); !cap.is_null())
    logits = logits.unaryExpr([c = cap.get<double>()](double x) { return std::tanh(x / c) * c; });
  return logits;
}

std::vector<Routed> RouteToken(const Json& layer, const Safetensors& file, const Vector& logits,
                               int token) {
  const Json& router = layer.at("router");
  const std::string scope = router.at("score_scope"), scoring = router.at("scoring");
  if (router.at("selection") == "sparsemixer") return Sparsemixer(router, logits);
  if (scope != "all_experts" && scope != "selected_only") NotBuilt("score_scope", scope);
  const Vector values = scope == "all_experts" ? Scores(scoring, logits) : logits;
  const std::vector<int> ids = Select(layer, file, values, token);
  Vector weights = Gather(values, ids);
  if (scope == "selected_only") weights = Scores(scoring, weights);
  std::vector<Routed> routed;
  for (std::size_t i = 0; i < ids.size(); ++i) routed.push_back({ids[i], weights[i]});
  FinishWeights(router, file, routed);
  return routed;
}

}  // namespace assay
