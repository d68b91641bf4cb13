#include "reference/second_router.h"

#include <cmath>

namespace assay {
namespace {

using Real = long double;
constexpr Real kMinus = -std::numeric_limits<Real>::infinity();

class Router {
 public:
  Router(const RouterRule& rule, const RouterTensors& tensors, std::span<const double> logits)
      : rule_(rule), tensors_(tensors), logits_(logits), usable_(logits.size()) {
    for (std::size_t e = 0; e < logits.size(); ++e) usable_[e] = std::isfinite(logits[e]);
  }

  RoutedRow Run() {
    RoutedRow row;
    if (!Choose(row.ids)) {
      row.ids.clear();
      row.refusal = "not enough experts";
      return row;
    }
    std::vector<Real> weights;
    for (std::size_t slot = 0; slot < row.ids.size(); ++slot) weights.push_back(Raw(row.ids, slot));
    const Real divisor = Divisor(weights);
    for (std::size_t slot = 0; slot < weights.size(); ++slot) {
      Real w = weights[slot] / divisor;
      if (rule_.scaled_at == ScaledAt::kWeights) w *= rule_.scale;
      if (!tensors_.per_expert_scale.empty()) w *= tensors_.per_expert_scale[row.ids[slot]];
      row.weights.push_back(static_cast<double>(w));
    }
    return row;
  }

 private:
  bool ScoresAll() const {
    return rule_.scope == ScoreScope::kAllExperts && rule_.selection != SelectionKind::kSparsemixer;
  }

  // Range of long double: exp(200) and its like need no care.
  Real Score(int e, std::span<const int> among) const {
    const Real l = logits_[e];
    if (rule_.scoring == Scoring::kSigmoid) return 1 / (1 + std::exp(-l));
    if (rule_.scoring == Scoring::kSqrtsoftplus) return std::sqrt(std::log1p(std::exp(l)));
    Real others = 0;
    for (const int f : among) others += std::exp(Real(logits_[f]) - l);
    return 1 / others;
  }

  std::vector<int> Usable() const {
    std::vector<int> all;
    for (int e = 0; e < static_cast<int>(logits_.size()); ++e)
      if (usable_[e]) all.push_back(e);
    return all;
  }

  std::vector<Real> Ranked() const {
    const std::vector<int> all = Usable();
    std::vector<Real> ranked(logits_.size(), kMinus);
    for (const int e : all) {
      ranked[e] =
          ScoresAll() ? static_cast<Real>(static_cast<double>(Score(e, all))) : Real(logits_[e]);
      if (!tensors_.correction_bias.empty())
        ranked[e] = static_cast<double>(ranked[e]) + tensors_.correction_bias[e];
    }
    if (rule_.selection == SelectionKind::kGrouped) DropGroups(ranked);
    return ranked;
  }

  Real GroupValue(const std::vector<Real>& ranked, int group) const {
    const int size = static_cast<int>(ranked.size()) / rule_.groups;
    Real best = kMinus, pair = kMinus;
    for (int i = group * size; i < (group + 1) * size; ++i) {
      best = std::max(best, ranked[i]);
      for (int j = i + 1; j < (group + 1) * size; ++j)
        if (ranked[i] > kMinus && ranked[j] > kMinus) pair = std::max(pair, ranked[i] + ranked[j]);
    }
    return rule_.group_score == GroupScore::kMax || pair == kMinus ? best : pair;
  }

  // A group is kept when fewer than groups_kept others come before it.
  void DropGroups(std::vector<Real>& ranked) const {
    std::vector<Real> values;
    for (int g = 0; g < rule_.groups; ++g) values.push_back(GroupValue(ranked, g));
    const std::size_t size = ranked.size() / rule_.groups;
    for (int g = 0; g < rule_.groups; ++g) {
      int before = 0;
      for (int h = 0; h < rule_.groups; ++h)
        before += values[h] > values[g] || (values[h] == values[g] && h < g);
      if (before < rule_.groups_kept) continue;
      for (std::size_t e = g * size; e < (g + 1) * size; ++e)
        if (usable_[e]) ranked[e] = rule_.dropped_fill;
    }
  }

  bool Choose(std::vector<int>& ids) const {
    if (rule_.selection == SelectionKind::kHash) return ChooseByTable(ids);
    std::vector<Real> ranked = Ranked();
    while (static_cast<int>(ids.size()) < rule_.top_k) {
      int best = -1;
      for (int e = 0; e < static_cast<int>(ranked.size()); ++e)
        if (ranked[e] > kMinus && (best < 0 || ranked[e] > ranked[best])) best = e;
      if (best < 0) return false;
      ids.push_back(best);
      ranked[best] = kMinus;
    }
    return true;
  }

  bool ChooseByTable(std::vector<int>& ids) const {
    for (const std::int64_t id : tensors_.hash_ids) {
      if (id < 0 || id >= static_cast<int>(logits_.size()) || !usable_[id]) return false;
      ids.push_back(static_cast<int>(id));
    }
    return static_cast<int>(ids.size()) == rule_.top_k;
  }

  Real Raw(const std::vector<int>& ids, std::size_t slot) const {
    const int e = ids[slot];
    if (rule_.selection == SelectionKind::kSparsemixer) return Sparse(ids, slot);
    return Score(e, ScoresAll() ? Usable() : ids);
  }

  Real Sparse(const std::vector<int>& ids, std::size_t slot) const {
    const Real winner = logits_[ids[slot]];
    std::vector<int> near;
    for (const int e : Usable()) {
      bool gone = false;
      for (std::size_t earlier = 0; earlier < slot; ++earlier) gone |= ids[earlier] == e;
      const Real l = logits_[e], scale = std::fabs(l) > winner ? std::fabs(l) : winner;
      if (!gone && !((winner - l) / scale > 2 * Real(rule_.jitter))) near.push_back(e);
    }
    Real others = 0;
    for (const int f : near) others += std::exp(Real(logits_[f]) - winner);
    return 1 / others;
  }

  Real Divisor(const std::vector<Real>& weights) const {
    Real sum = 0, powers = 0;
    for (const Real w : weights) {
      sum += w;
      powers += std::pow(std::fabs(w), Real(rule_.p));
    }
    switch (rule_.norm) {
      case WeightNorm::kNone:
        return 1;
      case WeightNorm::kSumPlusEps:
        return sum + rule_.eps;
      case WeightNorm::kSumAtLeastEps:
        return sum < rule_.eps ? Real(rule_.eps) : sum;
      case WeightNorm::kSumAboveEps:
        return sum > rule_.eps ? sum : 1;
      case WeightNorm::kPNorm:
        return std::pow(powers, 1 / Real(rule_.p));
    }
    return 1;
  }

  const RouterRule& rule_;
  const RouterTensors& tensors_;
  std::span<const double> logits_;
  std::vector<bool> usable_;
};

}  // namespace

RoutedRow SecondRoute(const RouterRule& rule, const RouterTensors& tensors,
                      std::span<const double> logits) {
  return Router(rule, tensors, logits).Run();
}

}  // namespace assay
