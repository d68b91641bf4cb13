// What the support matrix declares is what happens when such a layer is run.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fuzz/cells.h"
#include "fuzz/run_case.h"
#include "gpu/dispatch/support_matrix.h"

namespace assay {
namespace {

int& NotBuildable() {
  static int count = 0;
  return count;
}

// Any combination, half of them without a feature and with the path's own number of rows.
rc::Gen<Case> AnyCombination() {
  return rc::gen::exec([] {
    Case c;
    c.path = static_cast<PathId>(*rc::gen::inRange(0, kPathCount));
    std::vector<int> point;
    for (int axis = 0; axis < kSupportAxisCount; ++axis)
      point.push_back(*rc::gen::inRange(0, static_cast<int>(SupportValues(axis).size())));
    const bool usual = *rc::gen::arbitrary<bool>();
    if (usual) point.back() = 0;
    c.problem = SupportProblem(point);
    if (usual) c.problem.rows = RowsOf(c.path).front();
    const Decision decision = Decide(c.path, c.problem);
    Problem small = c.problem;
    small.hidden = small.inter = 32;
    if (Decide(c.path, small) == decision) c.problem = small;
    c.checks = Checks::kFast;
    return c;
  });
}

RC_GTEST_PROP(Support, RunsWhereItSaysSoAndRefusesByItsRule, ()) {
  const Case c = *AnyCombination();
  const Landing landing = Land(c.path, c.problem);
  if (!landing.Refused() && !CanBuild(c.problem)) {
    ++NotBuildable();
    return;
  }
  const Verdict verdict = RunCase(c);
  if (landing.Refused()) {
    const Decision& last = landing.decisions.back();
    RC_ASSERT(verdict.outcome == (last.NotBuilt() ? Outcome::kSkipped : Outcome::kRefused));
    RC_ASSERT(verdict.reason == last.rule);
    RC_ASSERT(verdict.kernels.empty());
    return;
  }
  // The check launches holds the kernels that ran against ExpectedKernels of the landed path.
  RC_ASSERT(verdict.landing.ToText() == landing.ToText());
  RC_ASSERT(verdict.findings.empty());
  RC_ASSERT(!verdict.kernels.empty());
  const std::vector<std::string> expected = ExpectedKernels(landing.landed, c.problem);
  RC_ASSERT(verdict.kernels.front() == expected.front());
  RC_ASSERT(verdict.kernels.back() == expected.back());
}

TEST(Support, CountsTheCombinationsThatTheReferenceCannotBuild) {
  std::printf("%d combinations were not buildable\n", NotBuildable());
  EXPECT_LT(NotBuildable(), 50);  // of a hundred: more would say nothing about the paths
}

}  // namespace
}  // namespace assay
