// A case is one line of text and the line is the whole repro.
//   path=k3 format=mxfp4 layout=transposed rows=3 hidden=512 experts=16 top_k=4 seed=7
// path, format, layout, rows are always printed, first, in this order; defaults are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gpu/paths.h"
#include "gpu/run/runner.h"
#include "oracle/verdict.h"
#include "reference/error.h"
#include "reference/problem.h"

namespace assay {

struct Case {
  PathId path = PathId::kBatched;
  Problem problem;
  Checks checks = Checks::kStandard;
  Device device = Device::kHost;

  bool operator==(const Case&) const = default;
};

// Throws UsageError: one line that names the field, the value, the rule and the way out.
Case ParseCase(std::string_view line);
// Parse(ToLine(c)) == c, and ToLine(Parse(l)) is the canonical form of l.
std::string ToLine(const Case& c);

// One row per field, for `assay list fields` and the documentation.
struct FieldInfo {
  std::string name, domain, default_value, meaning;
};
std::vector<FieldInfo> CaseFields();

}  // namespace assay
