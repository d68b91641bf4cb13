#include "ci/cells.h"

#include "fuzz/cells.h"

namespace assay {

const std::vector<std::string>& RunningCells() {
  static const std::vector<std::string> cells = ServedCellNames();
  return cells;
}

const std::vector<std::string>& RunningVariants() {
  static const std::vector<std::string> variants = ServedVariantNames();
  return variants;
}

std::vector<ThinCell> ThinCells(const std::vector<std::string>& served,
                                const std::map<std::string, std::int64_t>& counts,
                                std::int64_t floor) {
  std::vector<ThinCell> thin;
  for (const std::string& name : served) {
    const auto found = counts.find(name);
    const std::int64_t cases = found == counts.end() ? 0 : found->second;
    if (cases < floor) thin.push_back({name, cases});
  }
  return thin;
}

}  // namespace assay
