#include "gpu/dispatch/support_matrix.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace assay {
namespace {

bool Holds(const SupportBox& box, const std::vector<int>& point) {
  for (int axis = 0; axis < kSupportAxisCount; ++axis) {
    const auto& values = box.values[axis];
    const std::string& value = SupportValues(axis)[point[axis]];
    if (!values.empty() && std::find(values.begin(), values.end(), value) == values.end())
      return false;
  }
  return true;
}

TEST(SupportMatrix, BoxesOfAPathCoverEveryCombinationOnce) {
  for (int i = 0; i < kPathCount; ++i) {
    for (const SupportDepth depth : {SupportDepth::kPath, SupportDepth::kLanding}) {
      std::int64_t covered = 0;
      for (const SupportBox& box : SupportMatrix(static_cast<PathId>(i), depth))
        covered += box.combinations;
      EXPECT_EQ(covered, SupportCombinations()) << Token(static_cast<PathId>(i));
    }
  }
}

// A sample of points, each a prime number of combinations apart.
TEST(SupportMatrix, TheOneBoxThatHoldsACombinationSaysWhatTheGuardsSay) {
  for (int i = 0; i < kPathCount; ++i) {
    const auto path = static_cast<PathId>(i);
    const auto boxes = SupportMatrix(path);
    for (std::int64_t number = 0; number < SupportCombinations(); number += 1009) {
      std::vector<int> point(kSupportAxisCount);
      std::int64_t rest = number;
      for (int axis = 0; axis < kSupportAxisCount; ++axis) {
        const auto size = static_cast<std::int64_t>(SupportValues(axis).size());
        point[axis] = static_cast<int>(rest % size);
        rest /= size;
      }
      const auto holds = [&](const SupportBox& box) { return Holds(box, point); };
      ASSERT_EQ(std::count_if(boxes.begin(), boxes.end(), holds), 1);
      EXPECT_EQ(std::find_if(boxes.begin(), boxes.end(), holds)->answer,
                SupportAnswer(path, SupportProblem(point)));
    }
  }
}

TEST(SupportMatrix, AnswersNameTheRuleAndTheRuleBehindIt) {
  Problem p;
  p.rows = 3;
  EXPECT_EQ(SupportAnswer(PathId::kK3, p), "runs");
  p.format = Format::kMxfp4;
  EXPECT_EQ(SupportAnswer(PathId::kK3, p),
            "-> batched (e8m0_needs_per_token), refuses (mxfp4_needs_transposed)");
  p.rows = 2;
  EXPECT_EQ(SupportAnswer(PathId::kK3, p), "refuses (rows)");
}

}  // namespace
}  // namespace assay
