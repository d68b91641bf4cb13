// How each weight format lies in memory: group sizes and which inner dimensions it can carry.
#pragma once

#include <optional>
#include <string>

#include "reference/problem.h"

namespace assay {

// Weights along the inner dimension that share one scale; 0: none.
constexpr int GroupSize(Format format) {
  switch (format) {
    case Format::kNvfp4:
      return 16;
    case Format::kMxfp4:
    case Format::kMxfp8:
    case Format::kInt4G32:
      return 32;
    case Format::kFp8Block:
    case Format::kInt4G128:
      return 128;
    case Format::kFp8Channel:
    case Format::kBf16:
      return 0;
  }
  return 0;
}

// log2 of GroupSize, for Placement of scales.
constexpr int GroupShift(Format format) {
  int shift = 0;
  while ((1 << shift) < GroupSize(format)) ++shift;
  return shift;
}

constexpr bool IsFp4(Format format) { return format == Format::kNvfp4 || format == Format::kMxfp4; }
constexpr bool IsFp8(Format format) {
  return format == Format::kFp8Block || format == Format::kFp8Channel || format == Format::kMxfp8;
}

constexpr bool IsInt4(Format format) {
  return format == Format::kInt4G32 || format == Format::kInt4G128;
}

// The grid of scales of a matrix [rows, columns] and the bytes of one; 0 x 0: none.
struct ScaleGrid {
  int rows = 0, columns = 0, bytes = 0;
};
constexpr ScaleGrid ScaleGridOf(Format format, int rows, int columns) {
  const int group = GroupSize(format);
  if (format == Format::kFp8Channel) return {rows, 1, 4};
  if (format == Format::kFp8Block)
    return {(rows + group - 1) / group, (columns + group - 1) / group, 4};
  const int bytes = IsInt4(format) ? 2 : 1;
  return group == 0 ? ScaleGrid{} : ScaleGrid{rows, (columns + group - 1) / group, bytes};
}

// FP4 and INT4 need whole groups along the inner dimension. nullopt: `k_dim` can be carried;
// otherwise one line that names the value and the rule.
std::optional<std::string> CannotCarry(Format format, int k_dim);

// Whether the builder and the reference have the format.
constexpr bool IsBuilt(Format format) {
  return IsFp4(format) || IsFp8(format) || IsInt4(format) || format == Format::kBf16;
}

}  // namespace assay
