// Test helper: random router rules with their tensors and logits.
#pragma once

#include <vector>

#include "reference/random.h"
#include "reference/router_rule.h"

namespace assay::router_cases {

struct RouterCase {
  RouterRule rule;
  std::vector<double> correction_bias, per_expert_scale, logits;
  std::vector<std::int64_t> hash_ids;

  RouterTensors Tensors() const { return {{}, correction_bias, per_expert_scale, hash_ids}; }
};

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : stream_(seed, 77) {}
  int Below(int n) { return static_cast<int>(stream_.At(at_++) % n); }
  bool Coin() { return Below(2) == 1; }
  double Bell(double deviation) { return stream_.Bell(at_++) / 37837.0 * deviation; }

 private:
  RandomStream stream_;
  std::uint64_t at_ = 0;
};

inline void DrawGroups(Draw& draw, RouterRule& rule) {
  const int size = 2 + draw.Below(3);
  rule.groups = 2 + draw.Below(3);
  rule.groups_kept = 1 + draw.Below(rule.groups);
  rule.experts = rule.groups * size;
  rule.zero_experts = 0;
  rule.top_k = 1 + draw.Below(rule.groups_kept * size);
  rule.group_score = draw.Coin() ? GroupScore::kMax : GroupScore::kSumOfTwoBest;
  if (draw.Coin()) rule.dropped_fill = 0;
}

inline RouterRule DrawRule(Draw& draw) {
  RouterRule rule;
  rule.experts = 4 + draw.Below(12);
  rule.zero_experts = draw.Below(3) == 0 ? draw.Below(5) : 0;
  rule.top_k = 1 + draw.Below(4);
  rule.scoring = static_cast<Scoring>(draw.Below(3));
  rule.selection = static_cast<SelectionKind>(draw.Below(4));
  if (rule.selection == SelectionKind::kGrouped) DrawGroups(draw, rule);
  if (rule.selection == SelectionKind::kSparsemixer) rule.top_k = 2;
  if (draw.Below(3) == 0) rule.scope = ScoreScope::kSelectedOnly;
  rule.norm = static_cast<WeightNorm>(draw.Below(5));
  rule.eps = draw.Coin() ? 1e-20 : 1e-2;
  rule.p = 1 + draw.Below(3);
  rule.scale = 2.5;
  rule.scaled_at = static_cast<ScaledAt>(draw.Below(3));
  return rule;
}

inline RouterCase DrawCase(std::uint64_t seed) {
  Draw draw(seed);
  RouterCase c;
  c.rule = DrawRule(draw);
  const double deviation = draw.Below(4) == 0 ? 60 : 2;
  for (int e = 0; e < c.rule.Outputs(); ++e) c.logits.push_back(draw.Bell(deviation));
  if (draw.Coin() && c.rule.selection != SelectionKind::kSparsemixer)
    for (int e = 0; e < c.rule.Outputs(); ++e) c.correction_bias.push_back(draw.Bell(0.3));
  if (draw.Below(3) == 0)
    for (int e = 0; e < c.rule.Outputs(); ++e) c.per_expert_scale.push_back(1 + draw.Bell(0.2));
  if (c.rule.selection == SelectionKind::kHash)
    for (int slot = 0; slot < c.rule.top_k; ++slot)
      c.hash_ids.push_back(draw.Below(c.rule.Outputs()));
  return c;
}

}  // namespace assay::router_cases
