// Messages between a supervisor and its worker process, over pipes: a length of eight bytes, then
// that many bytes.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

enum class Received { kMessage, kEnd, kTimeout };

struct Message {
  Received received = Received::kEnd;
  std::string text;
};

// Waits until `deadline` for a whole message from `fd`. kEnd: the other side closed it, perhaps in
// the middle of a message, or named a length above 1 GiB.
Message Receive(int fd, std::optional<std::chrono::steady_clock::time_point> deadline);
// false: the other side is gone. SIGPIPE must be ignored.
bool Send(int fd, std::string_view text);

}  // namespace assay
