// The dispatch decisions as tables: who serves what, and by which rule another path does.
#pragma once

#include <string>

#include "ci/table.h"

namespace assay {

// path x format x layout, each at rows that the path serves, without further features. Without the
// rows that are refused throughout because they are not built yet.
Table DecisionTable();
// The paths and formats that DecisionTable leaves out altogether: how many, and their names.
std::string NotBuiltText();
// Every rule that some problem of a systematic sweep meets, with the paths that know it and the
// shortest problem of the sweep.
Table RulesTable();
// Formats, and which paths and layouts run them.
Table FormatsTable();

}  // namespace assay
