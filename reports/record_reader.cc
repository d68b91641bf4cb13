#include "reports/record_reader.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "reports/record.h"

namespace assay {

namespace {

using nlohmann::json;

struct Line {
  std::string text;
  bool ended = false;     // by a newline
  bool too_long = false;  // text holds only the beginning
};

// False at the end of the input.
bool NextLine(std::streambuf& in, Line& line) {
  line = {};
  int c = in.sbumpc();
  if (c == std::char_traits<char>::eof()) return false;
  for (; c != std::char_traits<char>::eof(); c = in.sbumpc()) {
    if (c == '\n') return line.ended = true;
    line.too_long = line.text.size() >= kMaxRecordLine;
    if (!line.too_long) line.text.push_back(static_cast<char>(c));
  }
  return true;
}

// The deepest nesting of brackets outside strings. The parser itself needs no stack, but copying
// and printing a value do: a line of a million brackets would end the program.
int Depth(std::string_view text) {
  int depth = 0, deepest = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if (c == '[' || c == '{') deepest = std::max(deepest, ++depth);
    if (c == ']' || c == '}') --depth;
  }
  return deepest;
}

bool Blank(const Line& line) { return line.text.find_first_not_of(" \t\r") == std::string::npos; }

// "" for a record that can be used, otherwise the kind of the problem.
std::string KindOfProblem(const Line& line, json& record) {
  if (line.too_long) return "too_long";
  if (Depth(line.text) > kMaxRecordDepth) return "too_deep";
  record = json::parse(line.text, nullptr, /*allow_exceptions=*/false);
  if (record.is_discarded()) return line.ended ? "not_json" : "torn_last_line";
  if (!record.is_object()) return "not_a_record";
  const auto schema = record.find("schema"), type = record.find("type");
  if (schema == record.end() || !schema->is_number_integer()) return "not_a_record";
  const double number = schema->get<double>();  // any integer fits, be it unsigned and huge
  if (number > kRecordSchema) return "newer_schema";
  if (number != kRecordSchema || type == record.end() || !type->is_string()) return "not_a_record";
  return IsRecordToken(type->get_ref<const std::string&>()) ? "" : "unknown_type";
}

}  // namespace

RecordFile ReadRecords(std::istream& in) {
  constexpr std::size_t kKept = 20;
  RecordFile file;
  Line line;
  for (std::int64_t number = 1; NextLine(*in.rdbuf(), line); ++number) {
    if (Blank(line)) continue;
    json record;
    const std::string kind = KindOfProblem(line, record);
    if (kind.empty()) {
      file.records.push_back(std::move(record));
      continue;
    }
    ++file.problem_counts[kind];
    if (file.problems.size() < kKept) file.problems.push_back({number, kind});
  }
  return file;
}

RecordFile ReadRecordFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw RecordError("record " + path + ": cannot be read: " + std::strerror(errno) +
                      "; name an existing file");
  }
  return ReadRecords(in);
}

}  // namespace assay
