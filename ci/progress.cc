#include "ci/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace assay {
namespace {

constexpr double kPlainInterval = 5.0, kBarInterval = 0.1;
constexpr int kBarWidth = 30;

double SteadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string Bar(double share) {
  const int full = static_cast<int>(share * kBarWidth);
  return "[" + std::string(static_cast<std::size_t>(full), '#') +
         std::string(static_cast<std::size_t>(kBarWidth - full), '.') + "]";
}

}  // namespace

Progress::Progress(Console& console, std::string label, std::int64_t total, double limit_seconds,
                   Clock clock)
    : console_(console),
      label_(std::move(label)),
      total_(total),
      limit_(limit_seconds),
      clock_(clock ? std::move(clock) : SteadySeconds),
      begin_(clock_()),
      last_(begin_) {}

Progress::~Progress() { Clear(); }

double Progress::Share(std::int64_t done) const {
  const double of_cases = total_ > 0 ? static_cast<double>(done) / static_cast<double>(total_) : 0;
  const double of_time = limit_ > 0 ? Elapsed() / limit_ : 0;
  return std::clamp(std::max(of_cases, of_time), 0.0, 1.0);
}

void Progress::At(std::int64_t done, std::int64_t failed) {
  const double now = clock_();
  if (now - last_ < (console_.terminal ? kBarInterval : kPlainInterval)) return;
  last_ = now;
  Draw(done, failed);
}

void Progress::Draw(std::int64_t done, std::int64_t failed) {
  const double seconds = Elapsed();
  const double rate = seconds > 0 ? static_cast<double>(done) / seconds : 0;
  const std::string text = fmt::format("{} {} cases, {} failed, {:.1f} a second, {:.0f} s", label_,
                                       done, failed, rate, seconds);
  if (console_.terminal) {
    console_.out << "\r\033[K" << Bar(Share(done)) << " " << text << std::flush;
    drawn_ = true;
  } else {
    console_.out << fmt::format("{} ({:.0f} %)\n", text, 100 * Share(done)) << std::flush;
  }
}

void Progress::Clear() {
  if (drawn_) console_.out << "\r\033[K" << std::flush;
  drawn_ = false;
}

}  // namespace assay
