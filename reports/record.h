// The record of runs: append-only JSONL, one object a line,
//   {"schema":1,"type":"finding",...}
// The file is the truth; databases and pages are built from it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay {

inline constexpr int kRecordSchema = 1;

// The record cannot be kept on this machine (full disk, folder not writable): exit code 5. One line
// with the path, the system's reason and the way out. This room uses no other, so it has its own.
struct RecordError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum class RecordType { kRun, kPoint, kCheckResult, kFinding, kVerdict, kAnnotation };

std::string_view RecordToken(RecordType type);  // "check_result"
bool IsRecordToken(std::string_view token);

// The line of a record without its newline. `fields` is an object; schema and type are put in
// front. Bytes that are no UTF-8 become U+FFFD; NaN and infinity become null.
std::string RecordLine(RecordType type, const nlohmann::json& fields);

// Appends records. Every line is one write(), so that lines of several processes never mix and a
// killed process leaves at most one torn line, its last. Throws RecordError; what was written
// before stays.
class RecordWriter {
 public:
  explicit RecordWriter(std::string path);
  ~RecordWriter();
  RecordWriter(const RecordWriter&) = delete;
  RecordWriter& operator=(const RecordWriter&) = delete;

  void Append(RecordType type, const nlohmann::json& fields);
  void Close();  // syncs to the disk; the destructor closes too, but tells nobody of an error

 private:
  void Write(std::string_view bytes);

  std::string path_;
  int file_ = -1;
  bool torn_ = false;  // the file ends inside a line: start a new one first
};

}  // namespace assay
