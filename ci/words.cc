#include "ci/words.h"

#include <array>
#include <charconv>
#include <limits>

namespace assay {
namespace {

double UnitSeconds(std::string_view unit) {
  if (unit == "s") return 1;
  if (unit == "m") return 60;
  if (unit == "h") return 3600;
  return 0;
}

constexpr double kLongestSeconds = 1e6;  // eleven days: a larger number is a slip
constexpr int kMostWorkers = 1024;

}  // namespace

template <>
std::span<const std::string_view> Words<Distribution>() {
  static constexpr std::array<std::string_view, 2> kWords{"small", "default"};
  return kWords;
}

template <>
std::span<const std::string_view> Words<Outcome>() {
  static constexpr std::array<std::string_view, 5> kWords{"passed", "failed", "refused", "skipped",
                                                          "vacuous"};
  return kWords;
}

template <>
std::span<const std::string_view> Words<MatrixFormat>() {
  static constexpr std::array<std::string_view, 3> kWords{"text", "json", "markdown"};
  return kWords;
}

double SecondsFromWord(std::string_view word) {
  double number = 0;
  const char* last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number);
  const double unit = UnitSeconds({end, static_cast<std::size_t>(last - end)});
  if (error != std::errc{} || unit == 0 || !(number > 0) || number * unit > kLongestSeconds) {
    throw UsageError(fmt::format(
        "time is '{}', not a duration above zero with its unit: write 30s, 5m or 1h", word));
  }
  return number * unit;
}

std::string WholeNumberProblem(std::string_view word, std::int64_t least) {
  std::int64_t number = 0;
  const char* last = word.data() + word.size();
  const auto [end, error] = std::from_chars(word.data(), last, number);
  if (error == std::errc{} && end == last && number >= least) return "";
  return fmt::format("'{}' is no whole number from {} to {}", word, least,
                     std::numeric_limits<std::int64_t>::max());
}

int WorkersFromWord(std::string_view word) {
  if (word == "auto") return 0;
  int workers = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), workers);
  if (error != std::errc{} || end != word.data() + word.size() || workers < 1 ||
      workers > kMostWorkers) {
    throw UsageError(
        fmt::format("workers is '{}': use auto or a number from 1 to {}", word, kMostWorkers));
  }
  return workers;
}

void RequireDevice(Device device) {
  if (const auto problem = DeviceProblem(device)) throw EnvironmentError(*problem);
}

}  // namespace assay
