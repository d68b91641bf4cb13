// What every check knows about the case, and how it writes a finding.
#pragma once

#include <string>
#include <string_view>

#include "gpu/run/run_record.h"
#include "reference/expected.h"
#include "reports/finding.h"

namespace assay {

struct CaseContext {
  const LayerData& layer;
  const Landing& landing;
};

// A finding of `check` on the landed path, without summary and evidence.
Finding NewFinding(const CaseContext& context, std::string_view check, std::string_view error_class,
                   std::string_view kernel = "");

void AddEvidence(Finding& finding, std::string_view key, std::string value);

// Shortest text that reads back to the same number; "NaN", "inf".
std::string NumberText(double value);
// "[-0.5, 0.25]", or "NaN only".
std::string IntervalText(const Interval& interval);
// "0x3f80 (1)".
std::string Bf16Text(std::uint16_t bits);
// "(1, 0, 2)".
std::string BlockText(const Dim3& block);
std::string CountText(std::int64_t count, std::int64_t total);  // "3 of 512"

}  // namespace assay
