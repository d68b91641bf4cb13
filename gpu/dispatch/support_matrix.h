// Who serves what: every combination of path, rows, format, layout, shared expert, router and
// feature, with the answer of the guards' own code. Combinations with one answer are merged to
// boxes; the boxes of a path are disjoint and cover all of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/paths.h"

namespace assay {

// The axes of a matrix, in the order of SupportBox::values.
inline constexpr const char* kSupportAxes[] = {"rows",   "format", "layout",
                                               "shared", "router", "feature"};
inline constexpr int kSupportAxisCount = 6;

struct SupportBox {
  PathId path;
  // Per axis the values of the box, none for all of them.
  std::vector<std::vector<std::string>> values;
  std::string answer;  // SupportAnswer
  std::int64_t combinations = 0;
};

// "runs", "-> batched (rule)", "-> batched (rule), refuses (rule)", "refuses (rule)".
std::string SupportAnswer(PathId path, const Problem& problem);

// kPath: the path's own decision alone, "-> batched (rule)"; what batched does is batched's matrix.
// kLanding: as SupportAnswer says it, which makes many more boxes.
enum class SupportDepth { kPath, kLanding };
std::vector<SupportBox> SupportMatrix(PathId path, SupportDepth depth = SupportDepth::kLanding);

// Values of an axis, as a box names them.
const std::vector<std::string>& SupportValues(int axis);
// The problem of one combination, one value index per axis; a small layer that meets the shape
// rules of every format.
Problem SupportProblem(const std::vector<int>& point);
// Combinations of one path.
std::int64_t SupportCombinations();

}  // namespace assay
