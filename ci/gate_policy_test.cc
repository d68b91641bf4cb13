#include "ci/gate_policy.h"

#include <gtest/gtest.h>

#include "reference/error.h"

namespace assay {
namespace {

const std::string kGood =
    "[corpus]\n"                  // 1
    "files = [\"a\", \"b\"]\n"    // 2
    "[fuzz]\n"                    // 3
    "cases = 10\n"                // 4
    "seed = 3\n"                  // 5
    "distribution = \"small\"\n"  // 6
    "checks = \"fast\"\n"         // 7
    "[goldens]\n"                 // 8
    "folders = []\n"              // 9
    "[floors]\n"                  // 10
    "own_kernel_cases = 1\n"      // 11
    "variant_cases = 5\n"         // 12
    "elements = 2\n"              // 13
    "experts = 3\n"               // 14
    "vacuous_share = 0.5\n"       // 15
    "goldens = 4\n";              // 16

std::string Replaced(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ErrorOf(const std::string& text) {
  try {
    ParseGatePolicy(text, "p.toml");
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(GatePolicyTest, EveryKeyIsTaken) {
  GatePolicy expected;
  expected.corpus_files = {"a", "b"};
  expected.cases = 10;
  expected.seed = 3;
  expected.distribution = Distribution::kSmall;
  expected.checks = Checks::kFast;
  expected.own_kernel_cases = 1;
  expected.variant_cases = 5;
  expected.elements = 2;
  expected.experts = 3;
  expected.vacuous_share = 0.5;
  expected.goldens = 4;
  EXPECT_EQ(ParseGatePolicy(kGood, "p.toml"), expected);
}

TEST(GatePolicyTest, TheProjectsOwnPolicyIsValidAndDemandsSomething) {
  const GatePolicy policy = ReadGatePolicy(ASSAY_SOURCE_DIR "/ci/gate.toml");
  EXPECT_GT(policy.cases, 0);
  EXPECT_GT(policy.own_kernel_cases, 0);
  EXPECT_GT(policy.variant_cases, 0);
  EXPECT_GT(policy.elements, 0);
  EXPECT_GT(policy.experts, 0);
  EXPECT_GT(policy.goldens, 0);
  EXPECT_LT(policy.vacuous_share, 1);
}

TEST(GatePolicyTest, AnUnknownKeyIsNamedWithItsLine) {
  EXPECT_EQ(ErrorOf(Replaced("seed = 3", "sede = 3")),
            "p.toml:5: unknown key 'sede' in [fuzz]: it knows cases, checks, distribution, seed");
}

TEST(GatePolicyTest, AnUnknownSectionIsNamedWithItsLine) {
  EXPECT_EQ(ErrorOf(kGood + "[flors]\n"),
            "p.toml:17: unknown section 'flors': a policy has corpus, floors, fuzz, goldens");
}

TEST(GatePolicyTest, AWrongTypeIsNamedWithItsLine) {
  EXPECT_EQ(ErrorOf(Replaced("cases = 10", "cases = \"10\"")),
            "p.toml:4: fuzz.cases must be a whole number of 0 or more");
  EXPECT_EQ(ErrorOf(Replaced("cases = 10", "cases = 10.5")),
            "p.toml:4: fuzz.cases must be a whole number of 0 or more");
  EXPECT_EQ(ErrorOf(Replaced("\"b\"", "2")),
            "p.toml:2: corpus.files must be a list of paths, each a string");
}

TEST(GatePolicyTest, AValueOutsideItsRangeIsNamed) {
  EXPECT_EQ(ErrorOf(Replaced("cases = 10", "cases = -1")),
            "p.toml:4: fuzz.cases must be a whole number of 0 or more");
  EXPECT_EQ(ErrorOf(Replaced("0.5", "1.5")),
            "p.toml:15: floors.vacuous_share must be a number from 0 to 1");
  EXPECT_EQ(ErrorOf(Replaced("0.5", "nan")),
            "p.toml:15: floors.vacuous_share must be a number from 0 to 1");
  EXPECT_EQ(ErrorOf(Replaced("\"fast\"", "\"most\"")),
            "p.toml:7: fuzz.checks must be one of fast standard all");
}

TEST(GatePolicyTest, AMissingKeyOrSectionIsNamed) {
  EXPECT_EQ(ErrorOf(Replaced("experts = 3\n", "")),
            "p.toml:10: [floors] lacks the key 'experts': add it");
  EXPECT_EQ(ErrorOf(Replaced("goldens = 4\n", "")),
            "p.toml:10: [floors] lacks the key 'goldens': add it");
  EXPECT_EQ(ErrorOf(Replaced("[goldens]\nfolders = []\n", "")),
            "p.toml: section [goldens] is missing: add it");
}

TEST(GatePolicyTest, BrokenTomlIsNamedWithItsLine) {
  EXPECT_TRUE(ErrorOf(Replaced("cases = 10", "cases = ")).starts_with("p.toml:4: no TOML: "))
      << ErrorOf(Replaced("cases = 10", "cases = "));
}

TEST(GatePolicyTest, AMissingFileIsAUsageError) {
  EXPECT_THROW(ReadGatePolicy("/nonexistent/policy.toml"), UsageError);
}

}  // namespace
}  // namespace assay
