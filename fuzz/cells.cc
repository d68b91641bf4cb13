#include "fuzz/cells.h"

#include <algorithm>
#include <array>
#include <set>

#include "fuzz/names.h"
#include "reference/draw_tensors.h"

namespace assay {

namespace {

template <typename E>
std::vector<E> All() {
  std::vector<E> all;
  for (std::size_t i = 0; i < Words<E>().size(); ++i) all.push_back(static_cast<E>(i));
  return all;
}

// A layer that meets the shape rules of every format: whole groups, blocks of 128.
Problem SmallLayer(const Cell& cell, const Variant& variant) {
  Problem p;
  p.rows = RowsOf(cell.path).front();
  p.hidden = p.inter = 128;
  p.format = cell.format;
  p.layout = cell.layout;
  p.shared = cell.shared;
  p.router = variant.router;
  if (p.router == RouterKind::kSigmoidTop1) p.top_k = 1;
  if (variant.feature != nullptr) variant.feature->set(p);
  return p;
}

bool Serves(const Cell& cell, const Variant& variant) {
  const Problem p = SmallLayer(cell, variant);
  return RunsItself(cell.path, p) && CanBuild(p);
}

// The routers that a cell serves with a feature, or without one.
std::vector<Variant> VariantsWith(const Cell& cell, const Feature* feature) {
  std::vector<Variant> variants;
  for (const RouterKind router : All<RouterKind>())
    if (Serves(cell, {router, feature})) variants.push_back({router, feature});
  return variants;
}

// Features in turn, each with its next router, so that a feature of few routers is not rarer.
void AddVariants(Cell& cell) {
  cell.plain = VariantsWith(cell, nullptr);
  std::vector<std::vector<Variant>> by_feature;
  std::size_t most = 0;
  for (const Feature& feature : Features()) {
    by_feature.push_back(VariantsWith(cell, &feature));
    most = std::max(most, by_feature.back().size());
  }
  for (std::size_t i = 0; i < most; ++i)
    for (const std::vector<Variant>& variants : by_feature)
      if (!variants.empty()) cell.featured.push_back(variants[i % variants.size()]);
}

std::vector<std::optional<Format>> SharedChoices() {
  std::vector<std::optional<Format>> choices = {std::nullopt};
  for (const Format format : All<Format>()) choices.push_back(format);
  return choices;
}

std::vector<Cell> MakeCells() {
  std::vector<Cell> cells;
  for (const PathId path : All<PathId>())
    for (const Format format : All<Format>())
      for (const Layout layout : All<Layout>())
        for (const auto& shared : SharedChoices()) {
          Cell cell{path, format, layout, shared, {}, {}};
          AddVariants(cell);
          if (!cell.plain.empty() || !cell.featured.empty()) cells.push_back(std::move(cell));
        }
  return cells;
}

std::vector<std::string> Sorted(const std::set<std::string>& names) {
  return {names.begin(), names.end()};
}

}  // namespace

const std::vector<int>& RowsOf(PathId path) {
  static const std::array<std::vector<int>, kPathCount> rows = {{
      {1},                                               // single
      {2},                                               // k2
      {3},                                               // k3
      {4, 4, 4, 5, 5, 7, 8},                             // kn
      {4},                                               // atomic_c4
      {3, 3, 3, 3, 1, 1, 1, 2, 2, 2, 4, 4, 5, 5, 7, 8},  // batched
      {4, 2, 2, 3, 3, 4, 5, 7, 8},                       // fp8_grouped
      {66, 65, 65, 67, 70},                              // prefill
  }};
  return rows[static_cast<int>(path)];
}

bool RunsItself(PathId path, const Problem& problem) {
  return Decide(path, problem).kind == Decision::Kind::kRuns;
}

bool CanBuild(const Problem& problem) {
  if (Impossible(problem)) return false;
  try {
    RequireSupported(problem);
    RequireFormats(problem);
    return true;
  } catch (const UnsupportedProblem&) {
    return false;
  }
}

const std::vector<Cell>& ServedCells() {
  static const std::vector<Cell> cells = MakeCells();
  return cells;
}

std::string CellName(PathId landed, const Problem& p) {
  std::string name(Token(landed));
  for (const std::string_view part : {NameOf(p.format), NameOf(p.layout)}) {
    name += ' ';
    name += part;
  }
  return name + " shared=" + std::string(p.shared ? NameOf(*p.shared) : "none");
}

std::vector<std::string> VariantNames(PathId landed, const Problem& p) {
  const std::string path = std::string(Token(landed)) + " ";
  std::vector<std::string> names = {path + "router=" + std::string(NameOf(p.router))};
  for (const Feature& feature : Features())
    if (feature.on(p)) names.push_back(path + feature.name);
  return names;
}

std::vector<std::string> ServedCellNames() {
  std::set<std::string> names;
  for (const Cell& cell : ServedCells())
    names.insert(CellName(cell.path, SmallLayer(cell, cell.First())));
  return Sorted(names);
}

std::vector<std::string> ServedVariantNames() {
  std::set<std::string> names;
  for (const Cell& cell : ServedCells())
    for (const auto* variants : {&cell.plain, &cell.featured})
      for (const Variant& variant : *variants)
        for (std::string& name : VariantNames(cell.path, SmallLayer(cell, variant)))
          names.insert(std::move(name));
  return Sorted(names);
}

}  // namespace assay
