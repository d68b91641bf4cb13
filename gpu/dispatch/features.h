// What a layer may have beside path, formats, layout and router, each switched on over a plain
// problem. One list for the support matrix and for the generators.
#pragma once

#include <vector>

#include "reference/problem.h"

namespace assay {

struct Feature {
  const char* name;  // "graph=on", as a case line says it
  void (*set)(Problem&);
  bool (*on)(const Problem&);
};

const std::vector<Feature>& Features();

}  // namespace assay
