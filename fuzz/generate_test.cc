#include "fuzz/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "fuzz/campaign.h"
#include "fuzz/generate_shape.h"
#include "reference/draw_tensors.h"

namespace assay {
namespace {

constexpr int kCases = 2000;  // as many as the gate runs

std::vector<Case> Generate(Distribution distribution, std::uint64_t seed) {
  std::vector<Case> cases;
  for (int i = 0; i < kCases; ++i) cases.push_back(GenerateCase(distribution, seed, i));
  return cases;
}

template <typename Of>
double Median(const std::vector<Case>& cases, Of of) {
  std::vector<double> values;
  for (const Case& c : cases) values.push_back(of(c.problem));
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

TEST(GenerateCase, IsThePureFunctionOfItsArguments) {
  for (int i = 0; i < 100; ++i) {
    const Case c = GenerateCase(Distribution::kDefault, 5, i);
    EXPECT_EQ(c, GenerateCase(Distribution::kDefault, 5, i));
  }
}

// These lines were printed once: a seed and a number name a case. They change only when a path
// joins the cells that the generator goes round; lines in corpora and findings stay what they are.
TEST(GenerateCase, GivesTheSameCaseOnEveryMachine) {
  EXPECT_EQ(ToLine(GenerateCase(Distribution::kDefault, 1, 0)),
            "path=single format=nvfp4 layout=row_major rows=1 hidden=144 inter=1040 experts=31 "
            "top_k=4 routing=identical data=outlier logits=ties seed=835123501");
  EXPECT_EQ(ToLine(GenerateCase(Distribution::kDefault, 1, 1003)),
            "path=k3 format=nvfp4 layout=transposed rows=3 hidden=176 inter=96 experts=33 top_k=8 "
            "router=sigmoid_bias routing=empty logits=saturated seed=3374385712");
  EXPECT_EQ(ToLine(GenerateCase(Distribution::kSmall, 7, 42)),
            "path=k3 format=nvfp4 layout=row_major rows=3 hidden=176 experts=12 shared=nvfp4 "
            "shared_gate=none logits=near_ties seed=3097513665");
}

TEST(GenerateCase, SeedsAndNumbersGiveOtherCases) {
  int equal = 0;
  for (int i = 0; i < 200; ++i) {
    const Case c = GenerateCase(Distribution::kDefault, 1, i);
    equal += c == GenerateCase(Distribution::kDefault, 2, i);
    equal += c == GenerateCase(Distribution::kDefault, 1, i + 640);  // the same cell
  }
  EXPECT_EQ(equal, 0);  // a random seed of 32 bits is part of each case
}

TEST(GenerateCase, EveryCaseIsPossibleAndItsLineReadsBack) {
  for (const Distribution d : {Distribution::kSmall, Distribution::kDefault}) {
    for (const Case& c : Generate(d, 3)) {
      ASSERT_EQ(Impossible(c.problem), std::nullopt) << ToLine(c);
      ASSERT_EQ(ParseCase(ToLine(c)), c);
    }
  }
}

// What the reference cannot build would be a skip, which the gate does not forgive.
TEST(GenerateCase, WhatAPathServesTheReferenceCanBuild) {
  for (const Distribution d : {Distribution::kSmall, Distribution::kDefault}) {
    for (const Case& c : Generate(d, 1)) {
      if (Land(c.path, c.problem).Refused()) continue;
      EXPECT_NO_THROW(RequireSupported(c.problem)) << ToLine(c);
    }
  }
}

// The acceptance of the gate: a median below 128 would mean that mostly toys were tested.
TEST(GenerateCase, MedianDimensionsAreAtLeast128) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    const auto cases = Generate(Distribution::kDefault, seed);
    EXPECT_GE(Median(cases, [](const Problem& p) { return p.hidden; }), 128) << seed;
    EXPECT_GE(Median(cases, [](const Problem& p) { return p.inter; }), 128) << seed;
  }
}

TEST(GenerateCase, SmallDistributionIsAsDocumented) {
  const auto cases = Generate(Distribution::kSmall, 1);
  EXPECT_EQ(Median(cases, [](const Problem& p) { return p.hidden; }), 128);
  EXPECT_EQ(Median(cases, [](const Problem& p) { return p.inter; }), 128);
  for (const Case& c : cases) {
    const Problem& p = c.problem;
    ASSERT_TRUE(p.hidden >= 32 && p.hidden <= 256) << ToLine(c);
    ASSERT_TRUE(p.inter >= 32 && p.inter <= 256) << ToLine(c);
    ASSERT_TRUE(p.rows <= 3 && p.experts <= 16 && p.top_k <= 4) << ToLine(c);
  }
}

TEST(GenerateCase, WorkStaysWithinWhatTheHostExecutorCanDo) {
  double sum = 0;
  for (const Case& c : Generate(Distribution::kDefault, 1)) {
    if (Land(c.path, c.problem).Refused()) continue;
    sum += static_cast<double>(ExpertWork(c.problem));
    EXPECT_LE(ExpertWork(c.problem), 50'000'000) << ToLine(c);
  }
  EXPECT_LE(sum / kCases, 4e6);
}

std::map<std::string, int> OwnCells(const std::vector<Case>& cases) {
  std::map<std::string, int> count;
  for (const Case& c : cases) {
    Verdict verdict;
    verdict.landing = Land(c.path, c.problem);
    if (!verdict.landing.Refused()) ++count[CellOf(c, verdict)];
  }
  return count;
}

// Every cell that a path says it serves, counted where the case lands.
TEST(GenerateCase, EveryServedCellGetsTwentyCasesOfTwoThousand) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    const auto count = OwnCells(Generate(Distribution::kDefault, seed));
    EXPECT_GE(count.size(), 76u);  // 19 of path, format, layout; 2 routers; with and without shared
    for (const auto& [cell, cases] : count) EXPECT_GE(cases, 20) << cell;
  }
}

TEST(GenerateCase, RefusalsAreDrawnTooButFew) {
  int refused = 0, other_formats = 0;
  for (const Case& c : Generate(Distribution::kDefault, 1)) {
    refused += Land(c.path, c.problem).Refused();
    const Format format = c.problem.format;
    other_formats +=
        format != Format::kNvfp4 && format != Format::kMxfp4 && format != Format::kBf16;
  }
  EXPECT_GE(refused, kCases / 20);
  EXPECT_LE(refused, kCases / 4);
  EXPECT_GE(other_formats, 1);
  EXPECT_LE(other_formats, kCases / 20);
}

}  // namespace
}  // namespace assay
