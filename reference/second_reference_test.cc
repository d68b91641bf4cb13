// The second decoder and the second router against the first ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "reference/quantise.h"
#include "reference/random.h"
#include "reference/router_cases.h"
#include "reference/second_decoder.h"
#include "reference/second_router.h"

namespace assay {
namespace {

using router_cases::DrawCase;
using router_cases::RouterCase;

TEST(SecondDecoder, AgreesOnEveryCodeOfEveryFormat) {
  EXPECT_EQ(FirstDifference(FirstTables(), SecondTables()).value_or("same"), "same");
}

// One entry flipped in either table: the lowest bit of its value.
TEST(SecondDecoder, OneFlippedEntryInEitherTableIsFound) {
  const DecodeTables first = FirstTables(), second = SecondTables();
  for (const auto& [name, values] : first)
    for (std::size_t trial = 0; trial < 16; ++trial) {
      const std::size_t code = RandomStream(trial, 5).At(0) % values.size();
      for (const bool in_first : {true, false}) {
        DecodeTables a = first, b = second;
        double& entry = (in_first ? a : b)[name][code];
        entry = std::isnan(entry) ? 0 : entry == 0 ? 1 : entry / 2;
        const auto difference = FirstDifference(a, b);
        ASSERT_TRUE(difference) << name << " " << code;
        EXPECT_NE(difference->find(name + " code " + std::to_string(code)), std::string::npos);
      }
    }
}

// Random payload, scales and zero points: every code and both NaN policies' codes occur.
Container RandomContainer(const ContainerScheme& scheme, bool transposed, std::uint64_t seed) {
  const bool whole = ElementBits(scheme.element) < 8;
  Container m{scheme, transposed, scheme.block_rows > 1 ? 131 : 24, whole ? 256 : 133, {}, {},
              {},     0.37f};
  SizeBuffers(m);
  const RandomStream stream(seed, 9);
  std::uint64_t at = 0;
  for (auto* bytes : {&m.payload, &m.scales, &m.zeros})
    for (std::uint8_t& byte : *bytes) byte = static_cast<std::uint8_t>(stream.At(at++));
  return m;
}

bool Same(const std::vector<double>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) return false;
  return a.size() == b.size();
}

TEST(SecondDecoder, AgreesOnWholeContainers) {
  const DecodeTables tables = SecondTables();
  for (const ContainerScheme& scheme : ContainerSchemes())
    for (const bool transposed : {false, true}) {
      const Container m = RandomContainer(scheme, transposed, 3);
      EXPECT_TRUE(Same(ExactWeights(m, CodePolicy::kStandard), SecondWeights(m, tables)))
          << scheme.name << (transposed ? " transposed" : "");
    }
}

TEST(SecondDecoder, AFlippedEntryOrAWrongOrderIsSeenInTheWeights) {
  const Container m = RandomContainer(SchemeNamed("nvfp4"), false, 4);
  const auto expected = ExactWeights(m, CodePolicy::kStandard);
  for (const char* name : {"e2m1", "e4m3"}) {
    DecodeTables tables = SecondTables();
    tables[name][5] *= 2;
    EXPECT_FALSE(Same(expected, SecondWeights(m, tables))) << name;
  }
  Container awq = RandomContainer(SchemeNamed("int4_g32_awq"), false, 4);
  const auto right = ExactWeights(awq, CodePolicy::kStandard);
  awq.scheme.order = Int4Order::kGptq;
  EXPECT_FALSE(Same(right, SecondWeights(awq, SecondTables())));
}

// Long double against double: a few roundings of 2^-53 of a weight of order one, more where a
// small sum divides.
void ExpectSame(const RoutedRow& a, const RoutedRow& b, std::uint64_t seed) {
  ASSERT_EQ(a.refusal.has_value(), b.refusal.has_value()) << seed;
  ASSERT_EQ(a.ids, b.ids) << seed;
  for (std::size_t i = 0; i < a.weights.size(); ++i)
    ASSERT_NEAR(a.weights[i], b.weights[i], 1e-13 * (std::fabs(a.weights[i]) + 1e-30)) << seed;
}

// Saturated scores that differ by less than the roundings of double have no order to agree on.
bool HasScoresWithinRounding(const RouterCase& c) {
  std::vector<double> scores = RankScores(c.rule, c.Tensors(), c.logits).value;
  std::sort(scores.begin(), scores.end());
  for (std::size_t i = 1; i < scores.size(); ++i)
    if (scores[i] - scores[i - 1] < 1e-14 * std::fabs(scores[i])) return true;
  return false;
}

TEST(SecondRouter, AgreesOnRandomRules) {
  int skipped = 0;
  for (std::uint64_t seed = 0; seed < 20000; ++seed) {
    const RouterCase c = DrawCase(seed);
    if (HasScoresWithinRounding(c)) {
      ++skipped;
      continue;
    }
    ExpectSame(RouteRow(c.rule, c.Tensors(), c.logits), SecondRoute(c.rule, c.Tensors(), c.logits),
               seed);
  }
  EXPECT_LT(skipped, 3000);
}

TEST(SecondRouter, AgreesWhereLogitsTieOrAreNotFinite) {
  const double values[] = {0, 0, 1, 1, 2, std::nan(""), HUGE_VAL, -HUGE_VAL};
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    RouterCase c = DrawCase(seed);
    router_cases::Draw draw(seed + 1);
    for (double& l : c.logits) l = values[draw.Below(8)];
    c.correction_bias.clear();
    ExpectSame(RouteRow(c.rule, c.Tensors(), c.logits), SecondRoute(c.rule, c.Tensors(), c.logits),
               seed);
  }
}

// All 4^4 logits from four values, all top_k: exhaustive on ties and order.
TEST(SecondRouter, AgreesOnAllSmallLogits) {
  for (int word = 0; word < 256; ++word)
    for (int top_k = 1; top_k <= 4; ++top_k)
      for (const auto selection : {SelectionKind::kTopk, SelectionKind::kGrouped}) {
        RouterRule rule;
        rule.experts = 4;
        rule.top_k = top_k;
        rule.selection = selection;
        rule.groups = 2;
        rule.groups_kept = top_k > 2 ? 2 : 1;
        rule.scope = ScoreScope::kSelectedOnly;
        const std::vector<double> logits{double(word & 3), double(word >> 2 & 3),
                                         double(word >> 4 & 3), double(word >> 6)};
        ExpectSame(RouteRow(rule, {}, logits), SecondRoute(rule, {}, logits), word);
      }
}

// The cross-check has power: one detail changed for one of the two is seen.
TEST(SecondRouter, AChangedDetailIsSeen) {
  const auto differs = [](auto change) {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
      const RouterCase c = DrawCase(seed);
      RouterCase changed = c;
      change(changed);
      const RoutedRow a = RouteRow(c.rule, c.Tensors(), c.logits);
      const RoutedRow b = SecondRoute(changed.rule, changed.Tensors(), c.logits);
      if (a.ids != b.ids) return true;
      for (std::size_t i = 0; i < a.weights.size(); ++i)
        if (std::fabs(a.weights[i] - b.weights[i]) > 1e-9) return true;
    }
    return false;
  };
  EXPECT_TRUE(differs([](RouterCase& c) { c.rule.eps *= 2; }));
  EXPECT_TRUE(differs([](RouterCase& c) { c.rule.group_score = GroupScore::kMax; }));
  EXPECT_TRUE(differs([](RouterCase& c) { c.rule.dropped_fill = 0; }));
  EXPECT_TRUE(differs([](RouterCase& c) { c.correction_bias.clear(); }));
  EXPECT_TRUE(differs([](RouterCase& c) { c.rule.jitter = 0.02; }));
  EXPECT_TRUE(differs([](RouterCase& c) {
    if (!c.hash_ids.empty()) c.hash_ids[0] ^= 1;
  }));
}

}  // namespace
}  // namespace assay
