// The production dispatch paths: who serves which problem, by which rule another path does, and
// what a path declares about itself. Pure decisions; nothing here runs a kernel.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/problem.h"

namespace assay {

struct PathContract;  // reference/rounding_contract.h

enum class PathId { kSingle, kK2, kK3, kKn, kAtomicC4, kBatched, kFp8Grouped, kPrefill };
inline constexpr int kPathCount = 8;

std::string_view Token(PathId path);  // "k3"
std::optional<PathId> PathFromToken(std::string_view token);

struct Decision {
  enum class Kind { kRuns, kFallsBack, kRefuses };
  Kind kind = Kind::kRuns;
  PathId to = PathId::kBatched;  // where it falls back to
  std::string rule;              // names the guard; empty when it runs

  // The rule says that this version lacks a feature, not that the path must not serve the problem.
  bool NotBuilt() const { return rule.starts_with("not_built"); }
  bool operator==(const Decision&) const = default;
};

// The guards of one path, in their production order.
Decision Decide(PathId path, const Problem& problem);

// Follows fallbacks until a path runs or refuses.
struct Landing {
  PathId asked, landed;
  std::vector<Decision> decisions;  // one per path asked, in order; the last runs or refuses

  bool Refused() const { return decisions.back().kind == Decision::Kind::kRefuses; }
  // "k3 -> batched (e8m0_needs_per_token)", "refused (lean_layout)", "k3"
  std::string ToText() const;
};
Landing Land(PathId path, const Problem& problem);

// The kernels that the landed path declares for the problem, in launch order.
std::vector<std::string> ExpectedKernels(PathId landed, const Problem& problem);

// The rounding contract of the landed path, with the order in which its kernels sum products: its
// bounds follow from it.
PathContract ContractOf(PathId landed, const Problem& problem);

// Whether the path adds results up in an order that may change from run to run, so that two runs
// may differ by what the order of FP32 additions can explain.
bool AddsInFreeOrder(PathId landed, const Problem& problem);

// Whether the landed path promises the output bits of the path it falls back to.
bool KeepsFallbackBits(PathId landed);

}  // namespace assay
