// Judges one row of a path's routing from the logits, ids and weights that it wrote.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "reference/group_selection.h"
#include "reference/interval.h"
#include "reference/router_expected.h"
#include "reference/routing.h"

namespace assay {
namespace {

std::string Text(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

// All that the judgement needs: the path's choice and the interval of every expert's score.
struct Route {
  std::span<const double> logits;
  std::span<const float> bias;
  std::vector<Interval> scores;
  std::vector<int> ids;

  // Experts with the same logit and the same bias have the same score, whatever the arithmetic.
  bool Equal(int a, int b) const {
    return logits[a] == logits[b] && (bias.empty() || std::bit_cast<std::uint32_t>(bias[a]) ==
                                                          std::bit_cast<std::uint32_t>(bias[b]));
  }
  bool CanPrecede(int first, int second) const { return scores[first].high >= scores[second].low; }
  std::string Name(int expert) const {
    return "expert " + std::to_string(expert) + " (logit " + Text(logits[expert]) +
           (bias.empty() ? "" : ", bias " + Text(bias[expert])) + ")";
  }
};

std::optional<RoutingError> IllegalIds(std::span<const std::uint32_t> ids, std::size_t experts) {
  for (std::size_t slot = 0; slot < ids.size(); ++slot) {
    const std::string at = "slot " + std::to_string(slot) + ": expert " + std::to_string(ids[slot]);
    if (ids[slot] >= experts)
      return RoutingError{"illegal_id", at + " of " + std::to_string(experts)};
    if (std::count(ids.begin(), ids.begin() + slot, ids[slot]) > 0)
      return RoutingError{"repeated_id", at + " was chosen before"};
  }
  return std::nullopt;
}

std::optional<RoutingError> Unchoosable(const Route& route) {
  for (const int id : route.ids)
    if (!std::isfinite(route.logits[id]))
      return RoutingError{"wrong_selection", "chose " + route.Name(id) + ", which is never chosen"};
  return std::nullopt;
}

// Whether leaving out `f` was wrong, seen from any of the chosen.
std::optional<RoutingError> WrongSelection(const Route& route, int f) {
  if (!std::isfinite(route.logits[f])) return std::nullopt;
  for (const int e : route.ids) {
    if (!route.CanPrecede(e, f))
      return RoutingError{"wrong_selection",
                          "chose " + route.Name(e) + " and left the better " + route.Name(f)};
    if (route.Equal(e, f) && f < e)
      return RoutingError{"tie_rule", "chose " + route.Name(e) + " and left the equal " +
                                          route.Name(f) + "; the lower index wins"};
  }
  return std::nullopt;
}

std::optional<RoutingError> WrongOrder(const Route& route) {
  for (std::size_t i = 0; i < route.ids.size(); ++i)
    for (std::size_t j = i + 1; j < route.ids.size(); ++j) {
      const int e = route.ids[i], f = route.ids[j];
      const std::string what = "slot " + std::to_string(i) + " holds " + route.Name(e) + ", slot " +
                               std::to_string(j) + " " + route.Name(f);
      if (!route.CanPrecede(e, f)) return RoutingError{"order", what + ": best score first"};
      if (route.Equal(e, f) && f < e)
        return RoutingError{"tie_rule", what + ": of equals the lower index comes first"};
    }
  return std::nullopt;
}

std::optional<RoutingError> WrongSet(const Route& route) {
  std::vector<bool> in(route.logits.size(), false);
  for (const int id : route.ids) in[id] = true;
  for (std::size_t f = 0; f < in.size(); ++f)
    if (!in[f])
      if (auto error = WrongSelection(route, static_cast<int>(f))) return error;
  return std::nullopt;
}

std::optional<RoutingError> WrongGroups(const RouterRule& rule, const Route& route) {
  if (AdmissibleGrouped(rule, BoxesOf(route.scores), route.ids)) return std::nullopt;
  std::string chosen;
  for (const int id : route.ids) chosen += (chosen.empty() ? "" : ", ") + route.Name(id);
  return RoutingError{"wrong_selection", "chose " + chosen + "; no admissible set of " +
                                             std::to_string(rule.groups_kept) +
                                             " groups has them as its best"};
}

RoutingError OffWeight(const std::string& where, double weight, double expected, double bound) {
  return {"wrong_weight", where + ": weight " + Text(weight) + ", expected " + Text(expected) +
                              " +- " + Text(bound)};
}

// Slots whose weight went to the identity weight are judged by their sum.
std::optional<RoutingError> WrongWeight(const Problem& problem, const Route& route,
                                        const RouteChoice& choice) {
  const WeightsExpected expected = RouteWeights(problem, route.logits, route.ids);
  double identity = 0, identity_bound = 0;
  for (std::size_t slot = 0; slot < route.ids.size(); ++slot) {
    const double weight = expected.weights[slot], bound = expected.bound[slot];
    if (choice.identity_weight && route.ids[slot] >= problem.experts) {
      identity += weight;
      identity_bound += bound + double(problem.top_k) * kUnitFp32 * (std::fabs(weight) + bound);
    } else if (!(std::fabs(choice.weights[slot] - weight) <= bound)) {
      return OffWeight("slot " + std::to_string(slot) + ", " + route.Name(route.ids[slot]),
                       choice.weights[slot], weight, bound);
    }
  }
  if (choice.identity_weight && !(std::fabs(*choice.identity_weight - identity) <= identity_bound))
    return OffWeight("identity experts", *choice.identity_weight, identity, identity_bound);
  return std::nullopt;
}

// A row that cannot be routed is refused: every slot names no expert, with weight 0.
bool MustRefuse(const Problem& problem, const RouteInputs& inputs) {
  const auto missing = [&](std::int64_t id) {
    return id < 0 || id >= problem.experts || !std::isfinite(inputs.logits[std::size_t(id)]);
  };
  if (problem.router == RouterKind::kHash)
    return std::any_of(inputs.hash_ids.begin(), inputs.hash_ids.end(), missing);
  return TopK(SelectionScores(problem, inputs.logits, inputs.bias), problem.top_k).size() <
         std::size_t(problem.top_k);
}

bool IsRefused(const RouteChoice& choice) {
  return std::all_of(choice.ids.begin(), choice.ids.end(),
                     [](std::uint32_t id) { return id == kNoExpert; }) &&
         std::all_of(choice.weights.begin(), choice.weights.end(),
                     [](float weight) { return weight == 0; }) &&
         choice.identity_weight.value_or(0) == 0;
}

RoutingError NotRefused(const RouteChoice& choice) {
  std::string ids;
  for (const std::uint32_t id : choice.ids) ids += " " + std::to_string(id);
  return {"wrong_selection", "chose" + ids + "; the row cannot be routed and must be refused"};
}

std::vector<int> AsInts(std::span<const std::uint32_t> ids) { return {ids.begin(), ids.end()}; }

bool IsIdentitySlot(const RouteChoice& choice, std::size_t slot) {
  return choice.ids[slot] == 0 && choice.weights[slot] == 0;
}

// The identity experts, best score first.
std::vector<int> IdentityByScore(const Problem& problem, std::span<const Interval> scores) {
  std::vector<double> middle(scores.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t e = std::size_t(problem.experts); e < scores.size(); ++e)
    middle[e] = (scores[e].low + scores[e].high) / 2;
  return TopK(middle, problem.zero_experts);
}

// The ids that the choice may stand for: identity slots name the best identity experts, one for
// the other; one of them may be expert 0 itself with a weight that underflowed.
std::vector<std::vector<int>> Readings(const Problem& problem, std::span<const Interval> scores,
                                       const RouteChoice& choice) {
  if (!choice.identity_weight) return {AsInts(choice.ids)};
  const std::vector<int> best = IdentityByScore(problem, scores);
  const auto read = [&](std::size_t expert_0) {
    std::vector<int> ids = AsInts(choice.ids);
    std::size_t next = 0;
    for (std::size_t slot = 0; slot < ids.size(); ++slot)
      if (slot != expert_0 && IsIdentitySlot(choice, slot) && next < best.size())
        ids[slot] = best[next++];
    return ids;
  };
  std::vector<std::vector<int>> readings{read(choice.ids.size())};
  for (std::size_t slot = 0; slot < choice.ids.size(); ++slot)
    if (IsIdentitySlot(choice, slot)) readings.push_back(read(slot));
  return readings;
}

std::optional<RoutingError> JudgeReading(const Problem& problem, const Route& route,
                                         const RouteChoice& choice) {
  const std::vector<std::uint32_t> ids(route.ids.begin(), route.ids.end());
  if (auto error = IllegalIds(ids, route.logits.size())) return error;
  if (auto error = Unchoosable(route)) return error;
  const RouterRule rule = RuleFor(problem);
  const bool grouped = rule.selection == SelectionKind::kGrouped;
  if (auto error = grouped ? WrongGroups(rule, route) : WrongSet(route)) return error;
  if (auto error = WrongOrder(route)) return error;
  return WrongWeight(problem, route, choice);
}

// The table's ids in its order.
std::optional<RoutingError> NotOfTheTable(const RouteInputs& inputs, const RouteChoice& choice) {
  if (inputs.hash_ids.size() != choice.ids.size())
    return RoutingError{"wrong_selection", std::to_string(choice.ids.size()) +
                                               " ids, the table has " +
                                               std::to_string(inputs.hash_ids.size())};
  for (std::size_t slot = 0; slot < choice.ids.size(); ++slot)
    if (std::int64_t{choice.ids[slot]} != inputs.hash_ids[slot])
      return RoutingError{"wrong_selection", "slot " + std::to_string(slot) + ": expert " +
                                                 std::to_string(choice.ids[slot]) +
                                                 ", the hash table says " +
                                                 std::to_string(inputs.hash_ids[slot])};
  return std::nullopt;
}

std::optional<RoutingError> JudgeHash(const Problem& problem, const RouteInputs& inputs,
                                      const RouteChoice& choice) {
  for (const std::uint32_t id : choice.ids)
    if (id >= inputs.logits.size())
      return RoutingError{"illegal_id", "expert " + std::to_string(id) + " of " +
                                            std::to_string(inputs.logits.size())};
  if (auto error = NotOfTheTable(inputs, choice)) return error;
  const Route route{inputs.logits, inputs.bias, {}, AsInts(choice.ids)};
  if (auto error = Unchoosable(route)) return error;
  return WrongWeight(problem, route, choice);
}

bool AdmissibleReading(const RouterRule& rule, std::span<const Interval> scores,
                       std::span<const int> ids) {
  for (std::size_t slot = 0; slot < ids.size(); ++slot)
    if (ids[slot] < 0 || ids[slot] >= static_cast<int>(scores.size()) ||
        std::count(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(slot), ids[slot]) > 0)
      return false;
  return rule.selection == SelectionKind::kGrouped ? AdmissibleGrouped(rule, BoxesOf(scores), ids)
                                                   : AdmissibleTopk(BoxesOf(scores), ids);
}

}  // namespace

RouteInputs RouteInputsOf(const LayerData& layer, int row) {
  RouteInputs inputs;
  inputs.bias = layer.router_bias;
  const auto top_k = static_cast<std::size_t>(layer.problem.top_k);
  if (layer.problem.router == RouterKind::kHash)
    inputs.hash_ids =
        std::span(layer.hash_table).subspan(layer.token_ids[std::size_t(row)] * top_k, top_k);
  return inputs;
}

std::optional<RoutingError> JudgeRoute(const Problem& problem, const RouteInputs& inputs,
                                       const RouteChoice& choice) {
  if (MustRefuse(problem, inputs))
    return IsRefused(choice) ? std::nullopt : std::optional(NotRefused(choice));
  if (std::count(choice.ids.begin(), choice.ids.end(), kNoExpert) > 0)
    return RoutingError{"wrong_selection", "a slot names no expert, though the row can be routed"};
  if (problem.router == RouterKind::kHash) return JudgeHash(problem, inputs, choice);
  std::vector<Interval> stored;
  for (const double l : inputs.logits) stored.push_back({l, l});
  Route route{inputs.logits, inputs.bias, ScoreIntervals(problem, stored, inputs.bias), {}};
  std::optional<RoutingError> first;
  for (std::vector<int>& ids : Readings(problem, route.scores, choice)) {
    route.ids = std::move(ids);
    const auto error = JudgeReading(problem, route, choice);
    if (!error) return std::nullopt;
    if (!first) first = error;
  }
  return first;
}

bool AdmissibleIds(const Problem& problem, std::span<const Interval> stored,
                   const RouteInputs& inputs, const RouteChoice& choice) {
  if (problem.router == RouterKind::kHash) return !NotOfTheTable(inputs, choice);
  const std::vector<Interval> scores = ScoreIntervals(problem, stored, inputs.bias);
  const auto readings = Readings(problem, scores, choice);
  return std::any_of(readings.begin(), readings.end(), [&](const std::vector<int>& ids) {
    return AdmissibleReading(RuleFor(problem), scores, ids);
  });
}

std::optional<RoutingError> JudgeRoute(const Problem& problem,
                                       std::span<const double> stored_logits,
                                       std::span<const float> bias,
                                       std::span<const std::uint32_t> ids,
                                       std::span<const float> weights) {
  return JudgeRoute(problem, RouteInputs{stored_logits, bias, {}}, RouteChoice{ids, weights, {}});
}

}  // namespace assay
