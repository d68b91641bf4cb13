#include "ci/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace assay {
namespace {

struct Fixture {
  std::istringstream in;
  std::ostringstream out, err;
  double now = 0;
  Console console{in, out, err, false};
  Progress::Clock clock = [this] { return now; };
};

TEST(ProgressTest, PlainLinesComeAtMostOncePerFiveSeconds) {
  Fixture f;
  Progress progress(f.console, "fuzz", 1000, 0, f.clock);
  for (int i = 1; i <= 200; ++i) {
    f.now = 0.1 * i;
    progress.At(i, 0);
  }
  const std::string text = f.out.str();
  const auto lines = std::count(text.begin(), text.end(), '\n');
  EXPECT_GE(lines, 3);
  EXPECT_LE(lines, 4) << "20 seconds";
  EXPECT_EQ(text.find('\r'), std::string::npos);
}

TEST(ProgressTest, ALineSaysCasesFailuresRateAndShare) {
  Fixture f;
  Progress progress(f.console, "fuzz", 1000, 0, f.clock);
  f.now = 10;
  progress.At(250, 2);
  EXPECT_EQ(f.out.str(), "fuzz 250 cases, 2 failed, 25.0 a second, 10 s (25 %)\n");
}

TEST(ProgressTest, ATimeLimitCountsAsProgress) {
  Fixture f;
  Progress progress(f.console, "fuzz", 0, 20, f.clock);
  f.now = 10;
  progress.At(7, 0);
  EXPECT_NE(f.out.str().find("(50 %)"), std::string::npos) << f.out.str();
}

TEST(ProgressTest, ABarIsRedrawnInPlaceAndRemoved) {
  Fixture f;
  f.console.terminal = true;
  {
    Progress progress(f.console, "fuzz", 10, 0, f.clock);
    f.now = 1;
    progress.At(5, 0);
    EXPECT_NE(f.out.str().find("[###############...............]"), std::string::npos);
  }
  EXPECT_EQ(f.out.str().find('\n'), std::string::npos);
  EXPECT_TRUE(f.out.str().ends_with("\r\033[K"));
}

}  // namespace
}  // namespace assay
