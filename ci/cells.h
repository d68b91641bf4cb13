// The cells of the coverage floor: every (path, format, layout, router, shared expert) that a path
// says it serves and that the reference can build.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay {

// Named as fuzz/campaign.h's CellOf names them; sorted.
const std::vector<std::string>& RunningCells();

struct ThinCell {
  std::string cell;
  std::int64_t cases = 0;
};
// Running cells with fewer than `floor` cases.
std::vector<ThinCell> ThinCells(const std::map<std::string, std::int64_t>& own_kernels,
                                std::int64_t floor);

}  // namespace assay
