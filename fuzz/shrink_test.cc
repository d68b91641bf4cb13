#include "fuzz/shrink.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fuzz/generate.h"

namespace assay {
namespace {

using Condition = std::function<bool(const Problem&)>;

Verdict Failed(const std::string& check, const std::string& error_class) {
  Verdict verdict;
  verdict.outcome = Outcome::kFailed;
  Finding finding;
  finding.check = check;
  finding.error_class = error_class;
  verdict.findings.push_back(finding);
  return verdict;
}

// A judge that fails with one and the same finding where the condition holds.
std::function<Verdict(const Case&)> FailsIff(const Condition& condition) {
  return [condition](const Case& c) {
    return condition(c.problem) ? Failed("memory", "read_outside") : Verdict{};
  };
}

Shrunk ShrinkLine(const std::string& line, const Condition& condition, int budget = 400) {
  const auto judge = FailsIff(condition);
  const Case failing = ParseCase(line);
  return Shrink(failing, judge(failing), judge, budget);
}

constexpr char kLarge[] =
    "path=k3 format=nvfp4 layout=hybrid rows=3 hidden=720 inter=464 experts=129 top_k=8 "
    "router=sigmoid_bias norm=off scale=2.5 shared=nvfp4 shared_gate=none routing=zipf data=heavy "
    "logits=wide seed=3141592653";

TEST(Shrink, ReachesTheKnownMinimumOfEveryField) {
  const Shrunk shrunk = ShrinkLine(kLarge, [](const Problem& p) {
    return p.experts >= 3 && p.hidden >= 64 && p.shared.has_value();
  });
  EXPECT_EQ(ToLine(shrunk.smallest),
            "path=k3 format=nvfp4 layout=hybrid rows=1 hidden=64 inter=16 experts=3 top_k=1 "
            "shared=nvfp4");
  EXPECT_FALSE(shrunk.exhausted);
  EXPECT_LE(shrunk.runs, 60);
}

TEST(Shrink, KeepsWhatTheFaultNeeds) {
  const Shrunk shrunk = ShrinkLine(kLarge, [](const Problem& p) {
    return p.top_k >= 5 && p.rows == 3 && p.inter > 100 && p.data == DataDraw::kHeavy &&
           p.seed > 3000000000u && !p.norm;
  });
  EXPECT_EQ(ToLine(shrunk.smallest),
            "path=k3 format=nvfp4 layout=hybrid rows=3 hidden=16 inter=112 experts=5 top_k=5 "
            "norm=off data=heavy seed=3141592653");
}

TEST(Shrink, KeepsDimensionsWholeGroups) {
  const Shrunk shrunk = ShrinkLine(
      "path=k3 format=mxfp4 layout=transposed rows=3 hidden=512 inter=352 experts=16 top_k=4",
      [](const Problem& p) { return p.hidden > 33; });
  EXPECT_EQ(ToLine(shrunk.smallest),
            "path=k3 format=mxfp4 layout=transposed rows=1 hidden=64 inter=32 experts=1 top_k=1");
}

TEST(Shrink, LowersExpertsAndTopKTogetherWhereOneAloneCannot) {
  const Shrunk shrunk =
      ShrinkLine("path=batched format=nvfp4 layout=transposed rows=1 experts=12 top_k=12",
                 [](const Problem& p) { return p.experts == p.top_k; });
  EXPECT_EQ(shrunk.smallest.problem.experts, 1);
  EXPECT_EQ(shrunk.smallest.problem.top_k, 1);
}

// A fault that hides behind another one as the case shrinks is another finding.
TEST(Shrink, NeverTakesAnotherFaultForThisOne) {
  const auto judge = [](const Case& c) {
    return c.problem.hidden >= 256 ? Failed("memory", "read_outside")
                                   : Failed("numeric", "out_of_contract");
  };
  const Case failing = ParseCase(kLarge);
  const Shrunk shrunk = Shrink(failing, judge(failing), judge);
  EXPECT_EQ(shrunk.smallest.problem.hidden, 256);
  EXPECT_EQ(shrunk.verdict.findings.at(0).check, "memory");
}

TEST(Shrink, NeverKeepsACaseThatIsNotFailing) {
  const auto judge = [](const Case&) {
    Verdict verdict = Failed("memory", "read_outside");
    verdict.outcome = Outcome::kVacuous;
    return verdict;
  };
  const Case failing = ParseCase(kLarge);
  EXPECT_EQ(Shrink(failing, Failed("memory", "read_outside"), judge).smallest, failing);
}

TEST(Shrink, StopsAtItsBudgetWithWhatItHas) {
  const Shrunk shrunk = ShrinkLine(
      kLarge, [](const Problem&) { return true; }, 3);
  EXPECT_EQ(shrunk.runs, 3);
  EXPECT_TRUE(shrunk.exhausted);
}

TEST(Shrink, StopsWhenAsked) {
  const auto judge = FailsIff([](const Problem&) { return true; });
  const Case failing = ParseCase(kLarge);
  const Shrunk shrunk = Shrink(failing, judge(failing), judge, 400, [] { return true; });
  EXPECT_EQ(shrunk.runs, 0);
  EXPECT_EQ(shrunk.smallest, failing);
  EXPECT_TRUE(shrunk.exhausted);
}

RC_GTEST_PROP(Shrink, GivesAFailingCaseThatIsNoLargerAndReadsBack, (std::uint32_t number)) {
  const Case failing = GenerateCase(Distribution::kDefault, 1, number);
  const int hidden = *rc::gen::inRange(1, failing.problem.hidden + 1);
  const auto judge = FailsIff([=](const Problem& p) { return p.hidden >= hidden; });
  const Shrunk shrunk = Shrink(failing, judge(failing), judge);
  RC_ASSERT(judge(shrunk.smallest).outcome == Outcome::kFailed);
  RC_ASSERT(shrunk.smallest.problem.hidden <= failing.problem.hidden);
  RC_ASSERT(shrunk.smallest.problem.experts == 1);
  RC_ASSERT(ParseCase(ToLine(shrunk.smallest)) == shrunk.smallest);
}

}  // namespace
}  // namespace assay
