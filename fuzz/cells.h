// What the paths serve, by the guards' own answer: the cells that the generator goes round and that
// the gate demands. A path, format, router or feature joins by itself as soon as its guards say
// that it runs and the reference can build it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fuzz/case.h"
#include "gpu/dispatch/features.h"

namespace assay {

struct Variant {
  RouterKind router = RouterKind::kSoftmax;
  const Feature* feature = nullptr;  // null: none
};

// A path with the formats that it runs on itself.
struct Cell {
  PathId path;
  Format format;
  Layout layout;
  std::optional<Format> shared;
  std::vector<Variant> plain;     // routers
  std::vector<Variant> featured;  // routers with one feature; not empty where `plain` is

  const Variant& First() const { return plain.empty() ? featured.front() : plain.front(); }
};

const std::vector<Cell>& ServedCells();

// Rows that the path serves, the most usual first; only what GenerateCase draws.
const std::vector<int>& RowsOf(PathId path);

// Whether the path's own kernels run the problem.
bool RunsItself(PathId path, const Problem& problem);
// Whether the layer is possible and the reference has all of it.
bool CanBuild(const Problem& problem);

// "k3 nvfp4 transposed shared=none"
std::string CellName(PathId landed, const Problem& problem);
// "k3 router=softmax", "k3 graph=on": the variants that the problem counts for.
std::vector<std::string> VariantNames(PathId landed, const Problem& problem);

// Names of all served cells, and of all their variants; sorted, distinct.
std::vector<std::string> ServedCellNames();
std::vector<std::string> ServedVariantNames();

}  // namespace assay
