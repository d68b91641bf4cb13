#include "reports/record.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace assay {

namespace {

constexpr std::pair<RecordType, std::string_view> kTokens[] = {
    {RecordType::kRun, "run"},
    {RecordType::kPoint, "point"},
    {RecordType::kCheckResult, "check_result"},
    {RecordType::kFinding, "finding"},
    {RecordType::kVerdict, "verdict"},
    {RecordType::kAnnotation, "annotation"}};

}  // namespace

std::string_view RecordToken(RecordType type) {
  for (const auto& [named, token] : kTokens) {
    if (named == type) return token;
  }
  return "?";
}

bool IsRecordToken(std::string_view token) {
  return std::any_of(std::begin(kTokens), std::end(kTokens),
                     [&](const auto& row) { return row.second == token; });
}

std::string RecordLine(RecordType type, const nlohmann::json& fields) {
  nlohmann::ordered_json record{{"schema", kRecordSchema}, {"type", RecordToken(type)}};
  for (const auto& [name, value] : fields.items()) record[name] = value;
  return record.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace assay
