#include "ci/support_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ci/table.h"
#include "ci/words.h"
#include "gpu/dispatch/support_matrix.h"

namespace assay {
namespace {

std::vector<SupportBox> AllBoxes(SupportDepth depth) {
  std::vector<SupportBox> all;
  for (const PathId path : AllOf<PathId>())
    for (SupportBox& box : SupportMatrix(path, depth)) all.push_back(std::move(box));
  return all;
}

// Most of an axis reads better by what it leaves out.
std::string CellText(int axis, const std::vector<std::string>& values) {
  if (values.empty()) return "*";
  std::vector<std::string> others;
  for (const std::string& value : SupportValues(axis))
    if (std::find(values.begin(), values.end(), value) == values.end()) others.push_back(value);
  return others.size() < values.size() ? fmt::format("not {}", fmt::join(others, " "))
                                       : fmt::format("{}", fmt::join(values, " "));
}

Table TableOf(const std::vector<SupportBox>& boxes) {
  std::vector<std::string> header = {"path"};
  for (const char* axis : kSupportAxes) header.emplace_back(axis);
  header.insert(header.end(), {"answer", "combinations"});
  Table table(header);
  for (const SupportBox& box : boxes) {
    std::vector<std::string> row = {std::string(Token(box.path))};
    for (int axis = 0; axis < kSupportAxisCount; ++axis)
      row.push_back(CellText(axis, box.values[axis]));
    row.insert(row.end(), {box.answer, std::to_string(box.combinations)});
    table.Add(row);
  }
  return table;
}

std::string CountText(const std::vector<SupportBox>& boxes) {
  std::int64_t runs = 0, falls = 0, refuses = 0;
  for (const SupportBox& box : boxes) {
    const bool refused = box.answer.find("refuses") != std::string::npos;
    (box.answer == "runs" ? runs : refused ? refuses : falls) += box.combinations;
  }
  return fmt::format("{} combinations: {} run, {} fall back and run there, {} are refused\n",
                     runs + falls + refuses, runs, falls, refuses);
}

nlohmann::json JsonOf(const SupportBox& box) {
  nlohmann::json json = {{"path", Token(box.path)}};
  for (int axis = 0; axis < kSupportAxisCount; ++axis)
    json[kSupportAxes[axis]] = box.values[axis].empty() ? SupportValues(axis) : box.values[axis];
  json["answer"] = box.answer;
  json["combinations"] = box.combinations;
  return json;
}

}  // namespace

std::string SupportMatrixText(MatrixFormat format) {
  const std::vector<SupportBox> all = AllBoxes(SupportDepth::kLanding);
  if (format == MatrixFormat::kJson) {
    nlohmann::json json = nlohmann::json::array();
    for (const SupportBox& box : all) json.push_back(JsonOf(box));
    return json.dump(1) + "\n";
  }
  const Table table = TableOf(AllBoxes(SupportDepth::kPath));
  return (format == MatrixFormat::kText ? table.Text() : table.Markdown()) + "\n" + CountText(all);
}

}  // namespace assay
