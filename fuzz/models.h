// Real layers by name: what `model=NAME` in a case line stands for. The table is fuzz/models.toml,
// compiled in, so that the command stands alone.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/problem.h"

namespace assay {

std::vector<std::string> ModelNames();  // in the order of the file

// The case fields that the model sets, in the order of a case line, for routed experts in `format`.
// Throws UsageError: an unknown name, or a model with a feature that no case field describes.
std::vector<std::pair<std::string, std::string>> ModelFields(std::string_view name,
                                                             std::string_view format);

}  // namespace assay
