// The coverage floor: what paths say they serve (fuzz/cells.h) against what a campaign ran.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace assay {

const std::vector<std::string>& RunningCells();     // path, format, layout, shared expert
const std::vector<std::string>& RunningVariants();  // path with a router or a feature

struct ThinCell {
  std::string cell;
  std::int64_t cases = 0;
};
// The names of `served` that `counts` holds fewer than `floor` times.
std::vector<ThinCell> ThinCells(const std::vector<std::string>& served,
                                const std::map<std::string, std::int64_t>& counts,
                                std::int64_t floor);

}  // namespace assay
