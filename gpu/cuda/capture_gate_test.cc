#include "gpu/cuda/capture_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace assay {
namespace {

// Eight threads run, two capture among them: nobody is ever inside with a capture.
TEST(CaptureGate, LetsNobodyInBesideACapture) {
  std::atomic<int> runs = 0, captures = 0, broken = 0;
  const auto run = [&] {
    for (int i = 0; i < 200; ++i) {
      const InsideGate gate(false);
      ++runs;
      if (captures != 0) ++broken;
      std::this_thread::yield();
      --runs;
    }
  };
  const auto capture = [&] {
    for (int i = 0; i < 100; ++i) {
      const InsideGate gate(true);
      if (++captures != 1 || runs != 0) ++broken;
      std::this_thread::yield();
      --captures;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) threads.emplace_back(run);
    for (int i = 0; i < 2; ++i) threads.emplace_back(capture);
  }
  EXPECT_EQ(broken, 0);
}

// Each waits inside for the other: this ends only if both are let in.
TEST(CaptureGate, LetsRunsInTogether) {
  std::latch both(2);
  std::atomic<int> met = 0;
  const auto run = [&] {
    const InsideGate gate(false);
    both.arrive_and_wait();
    ++met;
  };
  { const std::jthread first(run), second(run); }
  EXPECT_EQ(met, 2);
}

}  // namespace
}  // namespace assay
