// How far a long command is: a bar that is redrawn on a terminal, otherwise plain lines, at most
// one every five seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "ci/console.h"

namespace assay {

class Progress {
 public:
  using Clock = std::function<double()>;  // seconds; a test brings its own

  // `total` cases at most; `limit_seconds` > 0: the command ends after that time.
  Progress(Console& console, std::string label, std::int64_t total, double limit_seconds = 0,
           Clock clock = {});
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void At(std::int64_t done, std::int64_t failed);
  // Removes the bar, so that a line of output can be written.
  void Clear();
  double Elapsed() const { return clock_() - begin_; }

 private:
  double Share(std::int64_t done) const;
  void Draw(std::int64_t done, std::int64_t failed);

  Console& console_;
  std::string label_;
  std::int64_t total_;
  double limit_;
  Clock clock_;
  double begin_, last_;
  bool drawn_ = false;
};

}  // namespace assay
