#include "reference/expert_rule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reference/bf16.h"
#include "reference/error.h"
#include "reference/expert_parallel.h"
#include "reference/random.h"

namespace assay {
namespace {

using Vector = Eigen::VectorXd;

double Act(ActivationKind kind, double z, double alpha = 1) {
  ExpertRule rule;
  rule.activation = kind;
  rule.alpha = alpha;
  return Activated(rule, z);
}

// Values from the definitions, by tables of erf and tanh to fifteen digits.
TEST(ExpertRule, ActivationsHaveTheirKnownValues) {
  EXPECT_DOUBLE_EQ(Act(ActivationKind::kSilu, 1), 1 / (1 + std::exp(-1.0)));
  EXPECT_DOUBLE_EQ(Act(ActivationKind::kSwishAlpha, 1, 1.702), 1 / (1 + std::exp(-1.702)));
  EXPECT_NEAR(Act(ActivationKind::kGeluErf, 1), 0.841344746068543, 1e-15);
  EXPECT_NEAR(Act(ActivationKind::kGeluTanh, 1), 0.841191990608276, 1e-15);
  EXPECT_EQ(Act(ActivationKind::kReluSquared, -3), 0);
  EXPECT_EQ(Act(ActivationKind::kReluSquared, 3), 9);
}

TEST(ExpertRule, ClampsBeforeAndAfterDiffer) {
  ExpertRule rule;
  rule.clamp = ClampAt::kBeforeActivation;
  rule.gate_max = 2;
  rule.up_abs_max = 3;
  const double silu2 = 2 / (1 + std::exp(-2.0));
  EXPECT_DOUBLE_EQ(HiddenValue(rule, 5, -4), silu2 * -3);
  rule.clamp = ClampAt::kAfterActivation;
  EXPECT_DOUBLE_EQ(HiddenValue(rule, 5, -4), 2.0 * -3);
  EXPECT_DOUBLE_EQ(HiddenValue(rule, -9, 1), -9 / (1 + std::exp(9.0)));  // no lower limit
  rule.gate_min = -0.001;
  EXPECT_DOUBLE_EQ(HiddenValue(rule, -2, 1), -0.001);
}

TEST(ExpertRule, TheGptOssFormAddsOneToUp) {
  const ExpertRule rule = GptOssRule();
  EXPECT_DOUBLE_EQ(HiddenValue(rule, 2, 3), 2 / (1 + std::exp(-1.702 * 2)) * 4);
  EXPECT_DOUBLE_EQ(HiddenValue(rule, 9, -8), 7 / (1 + std::exp(-1.702 * 7)) * -6);
}

TEST(ExpertRule, FusedOrdersSplitIntoGateAndUp) {
  WeightMatrix fused(4, 1), gate, up;
  fused << 1, 2, 3, 4;
  SplitFused(FusedOrder::kConcatenated, fused, gate, up);
  EXPECT_EQ(gate(1, 0), 2);
  EXPECT_EQ(up(0, 0), 3);
  SplitFused(FusedOrder::kInterleaved, fused, gate, up);
  EXPECT_EQ(gate(1, 0), 3);
  EXPECT_EQ(up(0, 0), 2);
}

ExpertNetwork SmallNetwork() {
  ExpertNetwork n;
  n.gate = WeightMatrix::Constant(1, 1, 0.0);
  n.up = WeightMatrix::Constant(1, 1, 1.0);
  n.down = WeightMatrix::Constant(1, 1, 2.0);
  return n;
}

// relu^2 without a gate: (3 + 1)^2 * 2 - 5.
TEST(ExpertRule, BiasesAreAddedBeforeTheActivationAndAfterDown) {
  ExpertRule rule;
  rule.activation = ActivationKind::kReluSquared;
  rule.gated = false;
  ExpertNetwork n = SmallNetwork();
  n.up_bias = Vector::Constant(1, 1.0);
  n.down_bias = Vector::Constant(1, -5.0);
  EXPECT_EQ(EvaluateExpert(rule, n, Vector::Constant(1, 3.0))[0], 27);
}

// Two shared experts of different rule, one gated by sigmoid(0) = 1/2.
TEST(ExpertRule, SeveralSharedExpertsAreAddedEachWithItsOwnGate) {
  ExpertRule relu;
  relu.activation = ActivationKind::kReluSquared;
  relu.gated = false;
  const SharedExpert plain{relu, SmallNetwork(), {}};
  const SharedExpert gated{relu, SmallNetwork(), Vector::Zero(1)};
  const SharedExpert both[] = {plain, gated};
  EXPECT_EQ(EvaluateShared(both, Vector::Constant(1, 3.0))[0], 18 + 9);
}

// Each of the three roundings is seen: leaving out any gives another number for some input.
TEST(Lora, RoundsThreeTimes) {
  const RandomStream stream(1, 2);
  LoraAdapter lora{WeightMatrix(3, 8), WeightMatrix(16, 3), 0.75};
  Vector x(8), base(16);
  std::uint64_t at = 0;
  const auto draw = [&](auto& m) {
    for (Eigen::Index i = 0; i < m.size(); ++i)
      m.data()[i] = RoundToBf16(stream.Bell(at++) * 0x1p-15);
  };
  draw(lora.a);
  draw(lora.b);
  draw(x);
  draw(base);
  const Vector folded = FoldLora(base, &lora, x);
  const Vector low = (lora.a * x).unaryExpr(&RoundToBf16);
  const Vector delta = lora.b * low;
  for (int i = 0; i < 16; ++i)
    EXPECT_EQ(folded[i], RoundToBf16(base[i] + 0.75 * RoundToBf16(delta[i])));
  EXPECT_NE(folded, Vector((base + 0.75 * delta).unaryExpr(&RoundToBf16)));
  EXPECT_NE(folded, Vector(FoldLoraExact(base, lora, x).unaryExpr(&RoundToBf16)));
  EXPECT_EQ(FoldLora(base, nullptr, x), base);
  // Within the roundings: 2^-8 of each part, |a x| terms included.
  const Vector exact = FoldLoraExact(base, lora, x);
  const Vector parts = lora.b.cwiseAbs() * (lora.a.cwiseAbs() * x.cwiseAbs());
  for (int i = 0; i < 16; ++i)
    EXPECT_LE(std::fabs(folded[i] - exact[i]),
              3.1 * 0x1p-8 * 0.75 * parts[i] + 1.1 * 0x1p-8 * std::fabs(exact[i]));
}

TEST(ExpertParallel, MapsMayBeUneven) {
  const ExpertMap even = ExpertMap::Even(10, 4);
  EXPECT_EQ(even.ExpertsOf(0), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(even.ExpertsOf(3), (std::vector<int>{8, 9}));
  const ExpertMap uneven({2, 0, 0, 0, 2}, 3);
  EXPECT_TRUE(uneven.ExpertsOf(1).empty());
  EXPECT_EQ(uneven.RankOf(4), 2);
  EXPECT_THROW(ExpertMap({0, 3}, 3), UsageError);
}

// 1 + 2^-9 stored is 1; the sum 2 is stored, then the shared term rounds again.
TEST(ExpertParallel, EveryPartialAndTheSharedTermRound) {
  const RankSums sums{{1 + 0x1p-9, 1 + 0x1p-9}, 0x1p-8, true};
  EXPECT_EQ(ExactSum(sums), 2 + 0x1p-8 + 0x1p-8);
  EXPECT_EQ(ReducedInOrder(sums), 2);
}

// Any order of the additions, in FP32 or BF16, with partials moved inside their error.
TEST(ExpertParallel, EveryOrderStaysInsideTheAdmissibleInterval) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const RandomStream stream(seed, 8);
    const int ranks = 1 + static_cast<int>(stream.At(0) % 8);
    RankSums sums{{}, stream.Bell(1) * 0x1p-16, stream.At(2) % 2 == 0};
    if (!sums.has_shared) sums.shared = 0;
    std::vector<double> error(ranks), stored;
    for (int r = 0; r < ranks; ++r) {
      sums.partials.push_back(stream.Bell(10 + r) * 0x1p-16);
      error[r] = 0x1p-12;
      stored.push_back(RoundToBf16(sums.partials[r] + stream.Bell(50 + r) / 131072.0 * 0x1p-12));
    }
    const ReducedInterval admitted = AdmissibleReduced(sums, error, 0x1p-14);
    for (const bool bf16 : {true, false}) {
      double total = 0;
      for (int i = 0; i < ranks; ++i) {
        total += stored[(i + seed) % ranks];
        total = bf16 ? RoundToBf16(total) : double(static_cast<float>(total));
      }
      total = RoundToBf16(total);
      if (sums.has_shared) total = RoundToBf16(static_cast<float>(total + sums.shared));
      ASSERT_LE(admitted.low, total) << seed;
      ASSERT_GE(admitted.high, total) << seed;
    }
    EXPECT_LE(admitted.low, ReducedInOrder(sums));
    EXPECT_GE(admitted.high, ReducedInOrder(sums));
  }
}

}  // namespace
}  // namespace assay
