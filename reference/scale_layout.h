// Orders in which kernels want scales, as placement functions: which unit holds the scale of (row,
// group), and whose a unit is. Units that pad belong to nobody.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

enum class ScaleOrder {
  kRowMajor,    // [rows, groups]
  kTransposed,  // [groups, rows]
  // Tiles of 128 rows x 4 groups, 512 units each, row-major over tiles; inside, row r and group g
  // lie at (r % 32) * 16 + (r / 32) * 4 + g. Rows pad to 128, groups to 4. cuBLAS block scaling.
  kTiles128x4,
  // [groups, rows], each 64 rows of a group permuted so that a thread finds its eight scales in a
  // row: position 8 i + j holds row i + 8 j. Rows pad to 64. The order of Marlin kernels.
  kMarlin,
};
std::string_view Name(ScaleOrder order);

struct ScaleAt {
  int expert = 0, row = 0, group = 0;
  bool operator==(const ScaleAt&) const = default;
};

class ScaleLayout {
 public:
  // One matrix a expert, all of `groups` groups; `rows[e]` rows of expert e. Each expert starts at
  // a multiple of `row_padding` rows (1: no padding between experts).
  ScaleLayout(ScaleOrder order, std::vector<int> rows, int groups, int row_padding = 1);

  std::int64_t Units() const { return first_.back(); }
  // Row and group must be of the expert.
  std::int64_t UnitOf(ScaleAt at) const;
  // nullopt: padding. Units outside of [0, Units()) belong to nobody either.
  std::optional<ScaleAt> OwnerOf(std::int64_t unit) const;

 private:
  int PaddedRows(int expert) const;
  int PaddedGroups() const;
  // Inside the expert's own block of units.
  std::int64_t Inside(int expert, int row, int group) const;
  ScaleAt Position(int expert, std::int64_t inside) const;

  ScaleOrder order_;
  std::vector<int> rows_;
  int groups_, row_padding_;
  std::vector<std::int64_t> first_;  // first unit of every expert, then the end
};

// `scales` of one expert after another, each [rows, groups] row-major in units of `width` bytes, in
// the layout's order; padding is filled with `padding`.
std::vector<std::uint8_t> Arrange(const ScaleLayout& layout, std::span<const int> rows, int groups,
                                  int width, std::span<const std::uint8_t> scales,
                                  std::uint8_t padding);

}  // namespace assay
