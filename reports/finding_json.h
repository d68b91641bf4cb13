// A finding as a record: the fields of {"schema":1,"type":"finding",...}.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "reports/finding.h"

namespace assay {

nlohmann::json ToJson(const Finding& finding);

// nullopt: a field is missing or is not text. Unknown fields are ignored.
std::optional<Finding> FindingFromJson(const nlohmann::json& record);

}  // namespace assay
