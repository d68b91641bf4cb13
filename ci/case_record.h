// A judged case as a record: {"schema":1,"type":"check_result",...}.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "fuzz/case.h"

namespace assay {

// Two runs of the same cases, on two devices say, are compared by `repro` and `out_hash`.
nlohmann::json CaseRecord(const std::string& run_id, const std::string& suite, const Case& c,
                          const Verdict& verdict);

}  // namespace assay
