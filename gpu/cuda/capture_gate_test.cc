#include "gpu/cuda/capture_gate.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace assay {
namespace {

// Eight threads run, two capture among them: nobody is ever inside with a capture.
TEST(CaptureGate, LetsRunsInTogetherAndACaptureAlone) {
  std::atomic<int> runs = 0, captures = 0, broken = 0, most = 0;
  const auto run = [&] {
    for (int i = 0; i < 200; ++i) {
      const InsideGate gate(false);
      const int now = ++runs;
      if (now > most) most = now;
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
  EXPECT_GT(most, 1);
}

}  // namespace
}  // namespace assay
