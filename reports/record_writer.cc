#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "reports/record.h"

namespace assay {

namespace {

[[noreturn]] void Fail(const std::string& path, const char* what, int error) {
  throw RecordError("record " + path + ": " + what + ": " + std::strerror(error) +
                    "; free or name another place for it");
}

// Whether the last byte of a regular file is no newline: an earlier writer was killed in a line.
bool EndsInsideLine(int file) {
  struct stat info {};
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size == 0) return false;
  char last = '\n';
  return pread(file, &last, 1, info.st_size - 1) == 1 && last != '\n';
}

}  // namespace

RecordWriter::RecordWriter(std::string path) : path_(std::move(path)) {
  // Read too, to look at the last byte; a device or pipe may allow writing alone.
  file_ = open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) file_ = open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) Fail(path_, "cannot be opened", errno);
  torn_ = EndsInsideLine(file_);
}

RecordWriter::~RecordWriter() {
  if (file_ >= 0) close(file_);
}

void RecordWriter::Append(RecordType type, const nlohmann::json& fields) {
  std::string line = torn_ ? "\n" : "";
  line += RecordLine(type, fields);
  line += '\n';
  Write(line);
}

void RecordWriter::Write(std::string_view bytes) {
  if (file_ < 0) Fail(path_, "cannot be written", EBADF);
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) Fail(path_, "cannot be written", errno);
    // Short only when the disk fills: the rest then fails with the reason.
    bytes.remove_prefix(static_cast<std::size_t>(written));
    torn_ = !bytes.empty();
  }
}

void RecordWriter::Close() {
  if (file_ < 0) return;
  const int synced = fsync(file_), sync_error = errno;
  const int closed = close(file_), close_error = errno;
  file_ = -1;
  // A pipe or terminal cannot be synced, which is no loss.
  if (synced != 0 && sync_error != EINVAL && sync_error != EROFS) {
    Fail(path_, "cannot be synced", sync_error);
  }
  if (closed != 0) Fail(path_, "cannot be closed", close_error);
}

}  // namespace assay
