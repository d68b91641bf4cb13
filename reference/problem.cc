#include "reference/problem.h"

#include <cmath>

namespace assay {
namespace {

constexpr int kMaxRows = 1024;
// Beyond any model; keeps a mistyped case line from asking for terabytes.
constexpr int kMaxDimension = 1 << 17;
constexpr int kMaxExperts = 4096;

std::optional<std::string> Outside(const char* field, std::int64_t value, std::int64_t low,
                                   std::int64_t high) {
  if (low <= value && value <= high) return std::nullopt;
  return std::string(field) + "=" + std::to_string(value) + ": must lie in " + std::to_string(low) +
         ".." + std::to_string(high);
}

std::optional<std::string> ShapeError(const Problem& p) {
  if (auto e = Outside("rows", p.rows, 1, kMaxRows)) return e;
  if (auto e = Outside("hidden", p.hidden, 1, kMaxDimension)) return e;
  if (auto e = Outside("inter", p.inter, 1, kMaxDimension)) return e;
  if (auto e = Outside("experts", p.experts, 1, kMaxExperts)) return e;
  if (auto e = Outside("shared_inter", p.shared_inter, 0, kMaxDimension)) return e;
  if (auto e = Outside("zero_experts", p.zero_experts, 0, kMaxExperts)) return e;
  return Outside("ep", p.ep, 1, kMaxExperts);
}

std::string Value(const char* field, int value) {
  return std::string(field) + "=" + std::to_string(value);
}

std::optional<std::string> RoutingShapeError(const Problem& p) {
  if (p.top_k < 1 || p.top_k > p.experts + p.zero_experts)
    return Value("top_k", p.top_k) + ": must lie in 1.." +
           std::to_string(p.experts + p.zero_experts) + ", the number of experts";
  if (p.groups < 1 || p.experts % p.groups != 0)
    return Value("groups", p.groups) + ": must divide experts=" + std::to_string(p.experts);
  if (p.groups_kept < 1 || p.groups_kept > p.groups)
    return Value("groups_kept", p.groups_kept) + ": must lie in 1.." + std::to_string(p.groups) +
           ", the number of groups";
  if (p.groups_kept * (p.experts / p.groups) < p.top_k && p.groups > 1)
    return Value("groups_kept", p.groups_kept) +
           ": the kept groups hold fewer than top_k=" + std::to_string(p.top_k) + " experts";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> Impossible(const Problem& problem) {
  if (auto e = ShapeError(problem)) return e;
  if (auto e = RoutingShapeError(problem)) return e;
  if (!std::isfinite(problem.scale))
    return "scale=" + std::to_string(problem.scale) + ": must be finite";
  if (!std::isfinite(problem.limit) || problem.limit < 0)
    return "limit=" + std::to_string(problem.limit) + ": must be finite and not negative";
  return std::nullopt;
}

}  // namespace assay
