// A stream may not be captured while another thread of the process copies or waits on the default
// stream: each breaks the other. Runs pass the gate together, a capture alone.
#pragma once

#include <condition_variable>
#include <mutex>

namespace assay {

class CaptureGate {
 public:
  static CaptureGate& TheGate() {
    static CaptureGate gate;
    return gate;
  }

  // A capture that waits goes before runs that come later.
  void Enter(bool alone) {
    std::unique_lock lock(mutex_);
    if (!alone) {
      free_.wait(lock, [&] { return waiting_ == 0 && !alone_; });
      ++inside_;
      return;
    }
    ++waiting_;
    free_.wait(lock, [&] { return inside_ == 0 && !alone_; });
    --waiting_;
    alone_ = true;
  }
  void Leave(bool alone) {
    const std::lock_guard lock(mutex_);
    if (alone)
      alone_ = false;
    else
      --inside_;
    free_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable free_;
  int inside_ = 0, waiting_ = 0;
  bool alone_ = false;
};

// Inside the gate for its lifetime. Must not be nested: a capture between the two would wait for
// the first, and the second for the capture.
class InsideGate {
 public:
  explicit InsideGate(bool alone) : alone_(alone) { CaptureGate::TheGate().Enter(alone); }
  InsideGate(const InsideGate&) = delete;
  InsideGate& operator=(const InsideGate&) = delete;
  ~InsideGate() { CaptureGate::TheGate().Leave(alone_); }

 private:
  bool alone_;
};

}  // namespace assay
