#include "fuzz/generate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "fuzz/cells.h"
#include "fuzz/generate_shape.h"

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

// These lines were printed once: a seed and a number name a case. The numbers are those of free
// draws: the others move when a path joins the cells that the generator goes round. Lines in
// corpora and findings stay what they are.
TEST(GenerateCase, GivesTheSameCaseOnEveryMachine) {
  EXPECT_EQ(ToLine(GenerateCase(Distribution::kDefault, 1, 7)),
            "path=k2 format=nvfp4 layout=transposed rows=2 experts=31 top_k=3 shared_inter=256 "
            "logits=wide seed=778714192");
  EXPECT_EQ(ToLine(GenerateCase(Distribution::kDefault, 1, 1007)),
            "path=fp8_grouped format=fp8_block layout=row_major rows=2 hidden=96 experts=64 "
            "top_k=1 router=sigmoid_bias scale=2.5 routing=empty seed=3815876079");
  EXPECT_EQ(ToLine(GenerateCase(Distribution::kSmall, 7, 47)),
            "path=k3 format=nvfp4 layout=hybrid rows=3 hidden=144 inter=64 experts=3 "
            "router=topk_softmax norm=off scale=2.5 seed=3413430905");
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
      EXPECT_TRUE(CanBuild(c.problem)) << ToLine(c);
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
    const int least = p.rows > 16 ? 16 : 32;
    ASSERT_TRUE(p.hidden >= least && p.hidden <= 256) << ToLine(c);
    ASSERT_TRUE(p.inter >= least && p.inter <= 256) << ToLine(c);
    ASSERT_TRUE(p.experts <= 16 && p.top_k <= 4) << ToLine(c);
    ASSERT_TRUE(p.rows <= 3 || c.path != PathId::kBatched) << ToLine(c);
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

using Counts = std::map<std::string, int>;

// Counted where the case lands.
void Count(const std::vector<Case>& cases, Counts& cells, Counts& variants) {
  for (const Case& c : cases) {
    const Landing landing = Land(c.path, c.problem);
    if (landing.Refused()) continue;
    ++cells[CellName(landing.landed, c.problem)];
    for (const std::string& name : VariantNames(landing.landed, c.problem)) ++variants[name];
  }
}

TEST(GenerateCase, EveryServedCellGetsItsShareOfTwoThousandCases) {
  for (const std::uint64_t seed : {0, 1, 2}) {
    Counts cells, variants;
    Count(Generate(Distribution::kDefault, seed), cells, variants);
    const int share = kCases * 7 / 8 / static_cast<int>(ServedCells().size());
    EXPECT_GE(share, 10);
    for (const std::string& cell : ServedCellNames()) EXPECT_GE(cells[cell], share) << cell;
    for (const std::string& name : ServedVariantNames()) EXPECT_GE(variants[name], 3) << name;
  }
}

// What was drawn on top of a cell must leave it one.
TEST(GenerateCase, SevenOfEightCasesRunOnThePathTheyName) {
  for (const Distribution d : {Distribution::kSmall, Distribution::kDefault}) {
    const auto cases = Generate(d, 4);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (i % 8 == 7) continue;
      EXPECT_TRUE(RunsItself(cases[i].path, cases[i].problem)) << ToLine(cases[i]);
      EXPECT_TRUE(CanBuild(cases[i].problem)) << ToLine(cases[i]);
    }
  }
}

TEST(GenerateCase, RefusalsAreDrawnTooButFew) {
  int refused = 0, other_formats = 0;
  for (const Case& c : Generate(Distribution::kDefault, 1)) {
    refused += Land(c.path, c.problem).Refused();
    const Format format = c.problem.format;
    other_formats += format == Format::kMxfp8 || format == Format::kInt4G128;
  }
  EXPECT_GE(refused, kCases / 20);
  EXPECT_LE(refused, kCases / 4);
  EXPECT_GE(other_formats, 1);
  EXPECT_LE(other_formats, kCases / 20);
}

}  // namespace
}  // namespace assay
