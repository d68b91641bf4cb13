#include "gpu/run/data_rules.h"

#include <algorithm>

namespace assay {
namespace {

bool IsHash(const LayerData& layer) { return layer.problem.router == RouterKind::kHash; }

bool LacksTokenIds(const LayerData& layer) {
  return IsHash(layer) && layer.token_ids.size() != static_cast<std::size_t>(layer.problem.rows);
}

bool HasTokenOutsideTable(const LayerData& layer) {
  const std::size_t tokens =
      layer.hash_table.size() / static_cast<std::size_t>(layer.problem.top_k);
  return IsHash(layer) && std::any_of(layer.token_ids.begin(), layer.token_ids.end(),
                                      [&](std::uint32_t token) { return token >= tokens; });
}

bool NamesNoExpert(const LayerData& layer) {
  const int experts = layer.problem.experts;
  return IsHash(layer) && std::any_of(layer.hash_table.begin(), layer.hash_table.end(),
                                      [&](std::int64_t id) { return id < 0 || id >= experts; });
}

constexpr DataRule kRules[] = {
    {"hash_token_ids", "a hash router needs the id of every token", LacksTokenIds},
    {"hash_token_outside", "a token id lies outside the hash table", HasTokenOutsideTable},
    {"hash_expert_outside", "the hash table names an expert that does not exist", NamesNoExpert},
};

}  // namespace

std::span<const DataRule> DataRules() { return kRules; }

std::optional<DataRule> BrokenDataRule(const LayerData& layer) {
  for (const DataRule& rule : kRules)
    if (rule.breaks(layer)) return rule;
  return std::nullopt;
}

}  // namespace assay
