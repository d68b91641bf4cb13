#include "reports/finding_json.h"

namespace assay {

namespace {

using nlohmann::json;

// Name in the record -> member. Names as the database's columns.
constexpr std::pair<const char*, std::string Finding::*> kTexts[] = {
    {"check", &Finding::check},     {"path", &Finding::path},
    {"kernel", &Finding::kernel},   {"class", &Finding::error_class},
    {"summary", &Finding::summary}, {"repro", &Finding::case_line},
    {"replay", &Finding::replay}};

std::optional<std::string> TextAt(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

bool ReadEvidence(const json& record, Finding& finding) {
  const auto evidence = record.find("evidence");
  if (evidence == record.end() || !evidence->is_array()) return false;
  for (const json& item : *evidence) {
    if (!item.is_object()) return false;
    const auto name = TextAt(item, "name"), value = TextAt(item, "value");
    if (!name || !value) return false;
    finding.evidence.emplace_back(*name, *value);
  }
  return true;
}

}  // namespace

json ToJson(const Finding& finding) {
  json record{{"fingerprint", finding.Fingerprint()}, {"evidence", json::array()}};
  for (const auto& [name, member] : kTexts) record[name] = finding.*member;
  for (const auto& [name, value] : finding.evidence) {
    record["evidence"].push_back({{"name", name}, {"value", value}});
  }
  return record;
}

std::optional<Finding> FindingFromJson(const json& record) {
  if (!record.is_object()) return std::nullopt;
  Finding finding;
  for (const auto& [name, member] : kTexts) {
    auto text = TextAt(record, name);
    if (!text) return std::nullopt;
    finding.*member = std::move(*text);
  }
  if (!ReadEvidence(record, finding)) return std::nullopt;
  return finding;
}

}  // namespace assay
