// The table behind the case grammar: one row a field. Used by case.cc and its tests.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/case.h"

namespace assay {

struct CaseField {
  FieldInfo info;
  bool required = false;
  // Throws UsageError.
  std::function<void(Case&, std::string_view value)> parse;
  std::function<std::string(const Case&)> print;
  // Whether the field holds its default, and is therefore left out of the line.
  std::function<bool(const Case&)> is_default;
};

// In the order of the line; path, format, layout, rows first. `model` is not a field of a Case (it
// sets others) and so not in this table.
const std::vector<CaseField>& CaseFieldTable();

const CaseField* FindCaseField(std::string_view name);  // null: no such field

}  // namespace assay
