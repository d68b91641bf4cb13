// What the host checks of a step's data before the first launch: no kernel may meet such data, and
// no kernel mends them in silence.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "reference/layer_data.h"

namespace assay {

struct DataRule {
  std::string_view rule;  // what a refusal names
  std::string_view why;   // one line for people
  bool (*breaks)(const LayerData&);
};

std::span<const DataRule> DataRules();

// The first rule that the data break.
std::optional<DataRule> BrokenDataRule(const LayerData& layer);

}  // namespace assay
