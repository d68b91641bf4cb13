// One planted fault as its table writes it.
#pragma once

#include <span>
#include <vector>

#include "gpu/paths.h"

namespace assay::faults {

struct Row {
  const char *name, *error_class, *check, *what;
  std::vector<PathId> paths;
  bool (*applies)(const Problem&);
  const char* smallest;
};

std::span<const Row> RouterRows();

}  // namespace assay::faults
