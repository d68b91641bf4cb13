// Judges one row of a path's routing from the logits, ids and weights that it wrote.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>

#include "reference/error.h"
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
    if (!(route.logits[id] > -std::numeric_limits<double>::infinity()))
      return RoutingError{"wrong_selection", "chose " + route.Name(id) + ", which is never chosen"};
  return std::nullopt;
}

// Whether leaving out `f` was wrong, seen from any of the chosen.
std::optional<RoutingError> WrongSelection(const Route& route, int f) {
  if (std::isnan(route.logits[f])) return std::nullopt;
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
  ScoreBoxes boxes;
  for (const Interval& score : route.scores) {
    const bool never = IsOnlyNan(score);
    const double infinity = std::numeric_limits<double>::infinity();
    boxes.low.push_back(never ? -infinity : score.low);
    boxes.high.push_back(never ? -infinity : score.high);
  }
  if (AdmissibleGrouped(rule, boxes, route.ids)) return std::nullopt;
  std::string chosen;
  for (const int id : route.ids) chosen += (chosen.empty() ? "" : ", ") + route.Name(id);
  return RoutingError{"wrong_selection", "chose " + chosen + "; no admissible set of " +
                                             std::to_string(rule.groups_kept) +
                                             " groups has them as its best"};
}

std::optional<RoutingError> WrongWeight(const Problem& problem, const Route& route,
                                        std::span<const float> weights) {
  const WeightsExpected expected = RouteWeights(problem, route.logits, route.ids);
  for (std::size_t slot = 0; slot < weights.size(); ++slot)
    if (!(std::fabs(weights[slot] - expected.weights[slot]) <= expected.bound[slot]))
      return RoutingError{"wrong_weight",
                          "slot " + std::to_string(slot) + ", " + route.Name(route.ids[slot]) +
                              ": weight " + Text(weights[slot]) + ", expected " +
                              Text(expected.weights[slot]) + " +- " + Text(expected.bound[slot])};
  return std::nullopt;
}

}  // namespace

std::optional<RoutingError> JudgeRoute(const Problem& problem,
                                       std::span<const double> stored_logits,
                                       std::span<const float> bias,
                                       std::span<const std::uint32_t> ids,
                                       std::span<const float> weights) {
  if (problem.router == RouterKind::kHash)
    throw UnsupportedProblem("router=hash: judging it needs the table; not built yet");
  if (auto error = IllegalIds(ids, stored_logits.size())) return error;
  std::vector<Interval> stored;
  for (const double l : stored_logits) stored.push_back({l, l});
  const Route route{
      stored_logits, bias, ScoreIntervals(problem, stored, bias), {ids.begin(), ids.end()}};
  if (auto error = Unchoosable(route)) return error;
  const RouterRule rule = RuleFor(problem);
  const bool grouped = rule.selection == SelectionKind::kGrouped;
  if (auto error = grouped ? WrongGroups(rule, route) : WrongSet(route)) return error;
  if (auto error = WrongOrder(route)) return error;
  return WrongWeight(problem, route, weights);
}

}  // namespace assay
