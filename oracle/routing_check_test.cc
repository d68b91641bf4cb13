#include "oracle/routing_check.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracle/bf16_value.h"
#include "oracle/scripted_case.h"

namespace assay {
namespace {

using Evidence = std::vector<std::pair<std::string, std::string>>;

// Exact BF16 logits: token 0 ranks 5, 1; token 1 ranks 1, 2. Softmax over the two chosen.
struct RoutingCase {
  ScriptedCase scripted = MakeScriptedCase();
  RunRecord run = MakeScriptedRun(scripted.layer.problem);
  RouterExpected expected;

  RoutingCase() {
    const std::vector<double> logits = {-1, 1, 0, -2, -3, 2,  -4, -5,  //
                                        -1, 3, 1, -2, -3, -4, -5, -6};
    expected.logits = logits;
    for (const double logit : logits) {
      expected.stored.push_back({logit, logit});
      run.stages.logits.push_back(DoubleToBf16(logit));
    }
    expected.may = {{1, 5}, {1, 2}};
    // e^2 / (e^2 + e^1) = 1 / (1 + e^-1) and e^3 / (e^3 + e^1) = 1 / (1 + e^-2), rounded to FP32;
    // the judge's bound for an FP32 softmax is wider than that half step.
    const auto first = static_cast<float>(1 / (1 + std::exp(-1.0)));
    const auto second = static_cast<float>(1 / (1 + std::exp(-2.0)));
    run.weights = {first, 1 - first, second, 1 - second};
    run.launches = {{"gate_gemv_batch3", {}, 128, 0}, {"topk_softmax_batched", {}, 32, 0}};
  }
  std::vector<Finding> Check() const { return CheckRouting(scripted.context(), run, expected); }
  std::vector<Finding> Legal() const { return CheckLegalIds(scripted.context(), run, expected); }
};

TEST(RoutingCheck, PassesIdsAndWeightsThatFollowFromTheLogits) {
  const RoutingCase c;
  EXPECT_TRUE(c.Check().empty());
  EXPECT_TRUE(c.Legal().empty());
}

TEST(RoutingCheck, FindsALogitOutsideItsInterval) {
  RoutingCase c;
  c.run.stages.logits[8 + 6] = DoubleToBf16(-5.5);
  const auto findings = c.Check();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "logits_out_of_contract");
  EXPECT_EQ(findings[0].kernel, "gate_gemv_batch3");
  EXPECT_EQ(findings[0].evidence, (Evidence{{"first", "token 1, expert 6"},
                                            {"expected", "[-5, -5]"},
                                            {"exact", "-5"},
                                            {"got", "0xc0b0 (-5.5)"},
                                            {"wrong", "1 of 16"}}));
}

TEST(RoutingCheck, JudgesIdsByTheLogitsThatThePathItselfStored) {
  RoutingCase c;
  c.run.ids = {5, 1, 1, 5};  // token 1 left expert 2 for the worse expert 5
  const auto findings = c.Check();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, "routing");
  EXPECT_EQ(findings[0].error_class, "wrong_selection");
  EXPECT_EQ(findings[0].kernel, "topk_softmax_batched");
  EXPECT_EQ(EvidenceOf(findings[0], "token"), "1");
  EXPECT_EQ(EvidenceOf(findings[0], "ids"), "1 5");
  EXPECT_EQ(EvidenceOf(findings[0], "best_stored_logits"), "1:3 2:1 0:-1 3:-2");
  EXPECT_EQ(EvidenceOf(findings[0], "wrong_tokens"), "1 of 2");
}

TEST(RoutingCheck, FindsATieThatTheHigherIndexWon) {
  RoutingCase c;
  c.run.stages.logits[8 + 1] = c.run.stages.logits[8 + 2];  // experts 1 and 2 tie
  c.expected.stored[8 + 1] = c.expected.stored[8 + 2];
  c.run.ids = {5, 1, 2, 1};
  c.run.weights[2] = c.run.weights[3] = 0.5f;
  const auto findings = c.Check();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "tie_rule");
}

TEST(RoutingCheck, FindsAWeightThatWasNotNormalised) {
  RoutingCase c;
  for (float& weight : c.run.weights) weight *= 0.9f;
  const auto findings = c.Check();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "wrong_weight");
  EXPECT_EQ(EvidenceOf(findings[0], "wrong_tokens"), "2 of 2");
}

TEST(RoutingCheck, NamesAnExpertThatNoAdmissibleRoutingChooses) {
  RoutingCase c;
  c.run.ids[1] = 7;
  const auto findings = c.Legal();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "inadmissible_expert");
  EXPECT_EQ(findings[0].evidence, (Evidence{{"token", "0"},
                                            {"slot", "1"},
                                            {"got", "7"},
                                            {"admissible", "1 5"},
                                            {"wrong", "1 of 4"}}));
}

TEST(RoutingCheck, ReportsAnIdThatDoesNotExistOnce) {
  RoutingCase c;
  c.run.ids[2] = 0xFFFFFFFFu;
  EXPECT_EQ(c.Legal().at(0).error_class, "illegal_id");
  EXPECT_TRUE(c.Check().empty());  // the other token is right, and this one is said already
}

TEST(RoutingCheck, WithoutLogitsJudgesIdsByTheAdmissibleIntervals) {
  RoutingCase c;
  c.run.stages.logits.clear();
  EXPECT_TRUE(c.Check().empty());
  c.run.ids = {5, 2, 1, 2};  // expert 2's logit is 0, expert 1's is 1
  EXPECT_EQ(c.Check().at(0).error_class, "wrong_selection");
  c.expected.stored[2] = {0, 1};  // now the intervals of 1 and 2 meet
  EXPECT_TRUE(c.Check().empty());
}

}  // namespace
}  // namespace assay
