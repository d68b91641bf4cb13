// Real layers by name: what `model=NAME` in a case line stands for. The table is fuzz/models.toml,
// compiled in, so that the command stands alone.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reference/problem.h"

namespace assay {

// What a reader wants to know of a model; texts as a table shows them.
struct ModelInfo {
  std::string name;
  std::string shape;        // "2048 x 768, 8 of 128"
  std::string router;       // kind and what it has beside the default
  std::string activation;   // and its limit
  std::string shared;       // "none", or width and gate
  std::string formats;      // that it ships in
  std::string undescribed;  // keys of the file that no case field describes yet; "" if none
  bool sure = true;         // all values were confirmed in a config
};

std::vector<ModelInfo> ModelInfos();  // in the order of the file

std::vector<std::string> ModelNames();  // in the order of the file

// The case fields that the model sets, in the order of a case line, for routed experts in `format`.
// Throws UsageError: an unknown name, or a model with a feature that no case field describes.
std::vector<std::pair<std::string, std::string>> ModelFields(std::string_view name,
                                                             std::string_view format);

}  // namespace assay
