#include "gpu/worker/channel.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>

namespace assay {
namespace {

using Deadline = std::optional<std::chrono::steady_clock::time_point>;

int MillisecondsUntil(const Deadline& deadline) {
  if (!deadline) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(*deadline - std::chrono::steady_clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
}

Received ReadAll(int fd, char* to, std::size_t size, const Deadline& deadline) {
  while (size > 0) {
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, MillisecondsUntil(deadline));
    if (ready == 0) return Received::kTimeout;
    if (ready < 0 && errno == EINTR) continue;
    const ssize_t got = read(fd, to, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Received::kEnd;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return Received::kMessage;
}

bool WriteAll(int fd, const char* from, std::size_t size) {
  while (size > 0) {
    const ssize_t put = write(fd, from, size);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    from += put;
    size -= static_cast<std::size_t>(put);
  }
  return true;
}

}  // namespace

Message Receive(int fd, Deadline deadline) {
  std::uint64_t size = 0;
  char head[sizeof(size)];
  if (const Received how = ReadAll(fd, head, sizeof(head), deadline); how != Received::kMessage)
    return {how, ""};
  std::memcpy(&size, head, sizeof(size));
  constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
  if (size > kMost) return {Received::kEnd, ""};
  std::string text(static_cast<std::size_t>(size), '\0');
  const Received how = ReadAll(fd, text.data(), text.size(), deadline);
  if (how != Received::kMessage) return {how, ""};
  return {how, std::move(text)};
}

bool Send(int fd, std::string_view text) {
  const std::uint64_t size = text.size();
  char head[sizeof(size)];
  std::memcpy(head, &size, sizeof(size));
  return WriteAll(fd, head, sizeof(head)) && WriteAll(fd, text.data(), text.size());
}

}  // namespace assay
