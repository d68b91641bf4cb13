#include "ci/cells.h"

#include <algorithm>
#include <optional>

#include "ci/words.h"
#include "fuzz/campaign.h"
#include "reference/layer_data.h"

namespace assay {
namespace {

// Rows that between them lie in the domain of every path.
constexpr int kRows[] = {1, 2, 3, 4, 8, 65};

std::vector<std::optional<Format>> SharedChoices() {
  std::vector<std::optional<Format>> choices = {std::nullopt};
  for (const Format format : AllOf<Format>()) choices.push_back(format);
  return choices;
}

// A small layer that meets the shape rules of every format: whole groups and blocks of 128.
Problem SmallProblem(Format format, Layout layout, RouterKind router,
                     std::optional<Format> shared) {
  Problem problem;
  problem.hidden = problem.inter = 128;
  problem.format = format;
  problem.layout = layout;
  problem.router = router;
  problem.shared = shared;
  return problem;
}

bool CanBuild(const Problem& problem) {
  try {
    BuildLayer(problem);
    return true;
  } catch (const UnsupportedProblem&) {
    return false;
  }
}

std::optional<Problem> Served(PathId path, Problem problem) {
  for (int rows : kRows) {
    problem.rows = rows;
    if (Decide(path, problem).kind == Decision::Kind::kRuns) return problem;
  }
  return std::nullopt;
}

std::string CellName(PathId path, const Problem& problem) {
  Verdict verdict;
  verdict.landing = Land(path, problem);
  return CellOf(Case{path, problem, Checks::kStandard, Device::kHost}, verdict);
}

void AddCells(const Problem& layer, std::vector<std::string>& cells) {
  if (Impossible(layer)) return;
  std::optional<bool> built;
  for (const PathId path : AllOf<PathId>()) {
    const std::optional<Problem> served = Served(path, layer);
    if (!served) continue;
    if (!built) built = CanBuild(*served);
    if (*built) cells.push_back(CellName(path, *served));
  }
}

std::vector<std::string> AllCells() {
  std::vector<std::string> cells;
  for (const Format format : AllOf<Format>()) {
    for (const Layout layout : AllOf<Layout>()) {
      for (const RouterKind router : AllOf<RouterKind>()) {
        for (const std::optional<Format>& shared : SharedChoices()) {
          AddCells(SmallProblem(format, layout, router, shared), cells);
        }
      }
    }
  }
  std::sort(cells.begin(), cells.end());
  cells.erase(std::unique(cells.begin(), cells.end()), cells.end());
  return cells;
}

}  // namespace

const std::vector<std::string>& RunningCells() {
  static const std::vector<std::string> cells = AllCells();
  return cells;
}

std::vector<ThinCell> ThinCells(const std::map<std::string, std::int64_t>& own_kernels,
                                std::int64_t floor) {
  std::vector<ThinCell> thin;
  for (const std::string& cell : RunningCells()) {
    const auto found = own_kernels.find(cell);
    const std::int64_t cases = found == own_kernels.end() ? 0 : found->second;
    if (cases < floor) thin.push_back({cell, cases});
  }
  return thin;
}

}  // namespace assay
