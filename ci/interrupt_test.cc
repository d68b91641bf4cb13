#include "ci/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>

namespace assay {
namespace {

TEST(InterruptTest, TheFirstSignalIsOnlyNoted) {
  for (int signal : {SIGINT, SIGTERM}) {
    const InterruptScope scope;
    EXPECT_FALSE(Interrupted());
    std::raise(signal);
    EXPECT_TRUE(Interrupted());
  }
}

TEST(InterruptTest, ANewScopeStartsClean) {
  {
    const InterruptScope scope;
    std::raise(SIGINT);
  }
  const InterruptScope scope;
  EXPECT_FALSE(Interrupted());
}

TEST(InterruptDeathTest, TheSecondSignalEndsTheProcess) {
  EXPECT_EXIT(
      {
        const InterruptScope scope;
        std::raise(SIGINT);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
}

}  // namespace
}  // namespace assay
