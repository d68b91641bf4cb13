// Where the layer puts the unit (byte, word, scale) that belongs to a logical weight. This is the
// layer's knowledge: kernels compute their own indices and are judged against it.
#pragma once

#include <cstdint>

namespace assay {

// The logical weight (output row, input column) that a read serves; row -1 means "not said".
struct WeightAt {
  int row = -1, column = -1;
};

// Unit of weight (row, column) = (row >> row_shift) * row_stride + (column >> column_shift) *
// unit_stride.
struct Placement {
  std::int64_t row_stride = 0, unit_stride = 0;
  int column_shift = 0;  // log2 of the columns that one unit serves
  int row_shift = 0;     // log2 of the rows that one unit serves

  constexpr std::int64_t UnitOf(WeightAt weight) const {
    return (weight.row >> row_shift) * row_stride + (weight.column >> column_shift) * unit_stride;
  }
  constexpr bool operator==(const Placement&) const = default;
};

// Row-major [rows, units per row] or transposed [units per row, rows].
constexpr Placement PlaceUnits(bool transposed, int rows, int columns, int column_shift) {
  const std::int64_t units = (columns + (1 << column_shift) - 1) >> column_shift;
  return transposed ? Placement{1, rows, column_shift} : Placement{units, 1, column_shift};
}

}  // namespace assay
