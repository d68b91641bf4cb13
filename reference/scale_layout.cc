#include "reference/scale_layout.h"

#include <algorithm>

namespace assay {
namespace {

constexpr int RoundUp(int value, int multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

constexpr int kTileRows = 128, kTileGroups = 4, kTileUnits = kTileRows * kTileGroups;
constexpr int kTileLanes = 32;
constexpr int kMarlinRows = 64, kMarlinSide = 8;

// Multiple of rows that the order itself needs.
constexpr int RowUnit(ScaleOrder order) {
  if (order == ScaleOrder::kTiles128x4) return kTileRows;
  return order == ScaleOrder::kMarlin ? kMarlinRows : 1;
}

}  // namespace

std::string_view Name(ScaleOrder order) {
  switch (order) {
    case ScaleOrder::kRowMajor:
      return "row_major";
    case ScaleOrder::kTransposed:
      return "transposed";
    case ScaleOrder::kTiles128x4:
      return "tiles_128x4";
    case ScaleOrder::kMarlin:
      return "marlin";
  }
  return "";
}

ScaleLayout::ScaleLayout(ScaleOrder order, std::vector<int> rows, int groups, int row_padding)
    : order_(order), rows_(std::move(rows)), groups_(groups), row_padding_(row_padding) {
  first_.push_back(0);
  for (int e = 0; e < static_cast<int>(rows_.size()); ++e)
    first_.push_back(first_.back() + std::int64_t{PaddedRows(e)} * PaddedGroups());
}

int ScaleLayout::PaddedRows(int expert) const {
  return RoundUp(RoundUp(rows_[expert], row_padding_), RowUnit(order_));
}

int ScaleLayout::PaddedGroups() const {
  return order_ == ScaleOrder::kTiles128x4 ? RoundUp(groups_, kTileGroups) : groups_;
}

std::int64_t ScaleLayout::Inside(int expert, int row, int group) const {
  const std::int64_t rows = PaddedRows(expert), groups = PaddedGroups();
  if (order_ == ScaleOrder::kRowMajor) return row * groups + group;
  if (order_ == ScaleOrder::kTransposed) return group * rows + row;
  if (order_ == ScaleOrder::kMarlin) {
    const int in = row % kMarlinRows;
    return group * rows + (row - in) + in % kMarlinSide * kMarlinSide + in / kMarlinSide;
  }
  const std::int64_t tile = row / kTileRows * (groups / kTileGroups) + group / kTileGroups;
  const int in_tile = row % kTileRows;
  return tile * kTileUnits + in_tile % kTileLanes * 16 + in_tile / kTileLanes * 4 +
         group % kTileGroups;
}

ScaleAt ScaleLayout::Position(int expert, std::int64_t inside) const {
  const std::int64_t rows = PaddedRows(expert), groups = PaddedGroups();
  const auto at = [&](std::int64_t row, std::int64_t group) {
    return ScaleAt{expert, static_cast<int>(row), static_cast<int>(group)};
  };
  if (order_ == ScaleOrder::kRowMajor) return at(inside / groups, inside % groups);
  if (order_ == ScaleOrder::kTransposed) return at(inside % rows, inside / rows);
  if (order_ == ScaleOrder::kMarlin) {
    const std::int64_t position = inside % rows, in = position % kMarlinRows;
    return at(position - in + in / kMarlinSide + in % kMarlinSide * kMarlinSide, inside / rows);
  }
  const std::int64_t tile = inside / kTileUnits, in_tile = inside % kTileUnits;
  const std::int64_t tiles_wide = groups / kTileGroups;
  return at(tile / tiles_wide * kTileRows + in_tile / 16 + in_tile % 16 / 4 * kTileLanes,
            tile % tiles_wide * kTileGroups + in_tile % 4);
}

std::int64_t ScaleLayout::UnitOf(ScaleAt at) const {
  return first_[at.expert] + Inside(at.expert, at.row, at.group);
}

std::optional<ScaleAt> ScaleLayout::OwnerOf(std::int64_t unit) const {
  if (unit < 0 || unit >= Units()) return std::nullopt;
  const auto next = std::upper_bound(first_.begin(), first_.end(), unit);
  const int expert = static_cast<int>(next - first_.begin()) - 1;
  const ScaleAt at = Position(expert, unit - first_[expert]);
  if (at.row >= rows_[expert] || at.group >= groups_) return std::nullopt;
  return at;
}

std::vector<std::uint8_t> Arrange(const ScaleLayout& layout, std::span<const int> rows, int groups,
                                  int width, std::span<const std::uint8_t> scales,
                                  std::uint8_t padding) {
  std::vector<std::uint8_t> arranged(layout.Units() * width, padding);
  auto from = scales.begin();
  for (int e = 0; e < static_cast<int>(rows.size()); ++e)
    for (int row = 0; row < rows[e]; ++row)
      for (int group = 0; group < groups; ++group, from += width)
        std::copy_n(from, width, arranged.begin() + layout.UnitOf({e, row, group}) * width);
  return arranged;
}

}  // namespace assay
