// Reads records that may be torn, newer than this program, or no records at all. Nothing in a file
// makes it throw or crash; what cannot be used is counted with its reason.
#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct RecordProblem {
  std::int64_t line = 0;  // from 1
  std::string kind;       // not_json, torn_last_line, not_a_record, newer_schema, unknown_type,
                          // too_deep, too_long
};

struct RecordFile {
  std::vector<nlohmann::json> records;  // schema 1 and a known type; unknown fields are kept
  std::map<std::string, std::int64_t> problem_counts;  // by kind, exact
  std::vector<RecordProblem> problems;                 // the first 20
};

inline constexpr std::size_t kMaxRecordLine = std::size_t{16} << 20;  // bytes
inline constexpr int kMaxRecordDepth = 64;  // nested arrays and objects; ours need 4

RecordFile ReadRecords(std::istream& in);
// Throws RecordError when the file cannot be opened.
RecordFile ReadRecordFile(const std::string& path);

}  // namespace assay
