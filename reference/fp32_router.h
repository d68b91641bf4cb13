// Test helper: every router in FP32, as a kernel would do it. Written apart from router_rule.cc:
// own formulas in float, selection by repeated search.
#pragma once

#include <algorithm>
#include <cmath>

#include "reference/fp32_model.h"

namespace assay::fp32_router {

using fp32_model::Dot;
using fp32_model::Floats;

// What the router reads: the input, or bf16(x / rms(x) * (scale / sqrt(hidden))).
inline Floats Input(const LayerData& layer, const Dot& dot, int row) {
  Floats x = fp32_model::Column(layer, row);
  if (!layer.problem.pre_norm) return x;
  const auto hidden = static_cast<float>(x.size());
  const float inverse = 1.0f / std::sqrt(dot(x, x) / hidden + 1e-6f);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = fp32_model::ToBf16(x[i] * inverse *
                              (Bf16ToFloat(layer.pre_norm_scale[i]) * (1.0f / std::sqrt(hidden))));
  return x;
}

// As stored.
inline Floats Logits(const LayerData& layer, const Dot& dot, int row) {
  const Problem& p = layer.problem;
  const Floats x = Input(layer, dot, row);
  Floats logits, weights(x.size());
  for (int e = 0; e < p.RouterOutputs(); ++e) {
    for (int i = 0; i < p.hidden; ++i)
      weights[i] = layer.packed_router
                       ? fp32_model::WeightAtPosition(*layer.packed_router, e, i)
                       : Bf16ToFloat(layer.router_weight[std::size_t(e) * p.hidden + i]);
    float logit = dot(weights, x);
    if (p.router_bias) logit += Bf16ToFloat(layer.logit_bias[e]);
    logits.push_back(p.fp32_gate ? logit : fp32_model::ToBf16(logit));
  }
  return logits;
}

inline Floats Softmax(Floats values) {
  const float max = *std::max_element(values.begin(), values.end());
  float sum = 0;
  for (float& v : values) sum += v = std::exp(v - max);
  for (float& v : values) v /= sum;
  return values;
}

inline float Root(float l) {
  const float softplus = l > 0 ? l + std::log1p(std::exp(-l)) : std::log1p(std::exp(l));
  return std::sqrt(softplus);
}

// By expert: what its weight comes from.
inline Floats Scores(const Problem& p, Floats logits) {
  if (p.router == RouterKind::kSoftmax || p.router == RouterKind::kSoftmaxBias)
    return Softmax(logits);
  if (p.router == RouterKind::kTopkSoftmax) return logits;
  const bool root = p.router == RouterKind::kSqrtsoftplusBias || p.router == RouterKind::kHash;
  for (float& l : logits) l = root ? Root(l) : fp32_model::Logistic(l);
  return logits;
}

// Groups other than the best by the sum of their two best go to -inf.
inline void MaskGroups(const Problem& p, Floats& ranked) {
  const int size = p.experts / p.groups;
  std::vector<std::pair<float, int>> sums;
  for (int g = 0; g < p.groups; ++g) {
    Floats members(ranked.begin() + g * size, ranked.begin() + (g + 1) * size);
    std::sort(members.rbegin(), members.rend());
    sums.push_back({-(size > 1 ? members[0] + members[1] : members[0]), g});
  }
  std::sort(sums.begin(), sums.end());
  for (int i = p.groups_kept; i < p.groups; ++i)
    std::fill_n(ranked.begin() + sums[i].second * size, size, -HUGE_VALF);
}

inline std::vector<int> Best(Floats ranked, int k) {
  std::vector<int> ids;
  for (int i = 0; i < k; ++i) {
    const auto best = std::max_element(ranked.begin(), ranked.end());
    ids.push_back(static_cast<int>(best - ranked.begin()));
    *best = -HUGE_VALF;
  }
  return ids;
}

inline std::vector<int> Choose(const LayerData& layer, const Floats& logits, int row) {
  const Problem& p = layer.problem;
  if (p.router == RouterKind::kHash) {
    const auto first = layer.hash_table.begin() + std::ptrdiff_t(layer.token_ids[row]) * p.top_k;
    return {first, first + p.top_k};
  }
  const bool by_logit = p.router == RouterKind::kSoftmax || p.router == RouterKind::kTopkSoftmax ||
                        p.router == RouterKind::kSigmoidTop1;
  Floats ranked = by_logit ? logits : Scores(p, logits);
  for (std::size_t e = 0; e < layer.router_bias.size(); ++e) ranked[e] += layer.router_bias[e];
  if (p.router == RouterKind::kGroupedSigmoidBias && p.groups > 1) MaskGroups(p, ranked);
  return Best(ranked, p.top_k);
}

inline Floats Weights(const Problem& p, const Floats& logits, const std::vector<int>& ids) {
  const Floats scores = Scores(p, logits);
  Floats weights;
  for (const int id : ids) weights.push_back(scores[id]);
  if (p.router == RouterKind::kTopkSoftmax) return Softmax(weights);
  float sum = 0;
  for (const float w : weights) sum += w;
  const bool normed = p.norm && p.router != RouterKind::kSoftmaxBias &&
                      p.router != RouterKind::kSigmoidTop1 &&
                      (p.router == RouterKind::kSoftmax || sum > 1e-20f);
  for (float& w : weights) {
    if (normed) w /= sum;
    if (p.router != RouterKind::kSoftmax) w *= static_cast<float>(p.scale);
  }
  return weights;
}

struct Routed {
  Selection selection;
  std::vector<double> logits;  // [rows, outputs]
};

inline Routed Route(const LayerData& layer, const Dot& dot) {
  Routed routed;
  for (int row = 0; row < layer.problem.rows; ++row) {
    const Floats logits = Logits(layer, dot, row);
    const std::vector<int> ids = Choose(layer, logits, row);
    const Floats weights = Weights(layer.problem, logits, ids);
    routed.logits.insert(routed.logits.end(), logits.begin(), logits.end());
    routed.selection.ids.insert(routed.selection.ids.end(), ids.begin(), ids.end());
    routed.selection.weights.insert(routed.selection.weights.end(), weights.begin(), weights.end());
  }
  return routed;
}

}  // namespace assay::fp32_router
