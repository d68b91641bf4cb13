#include "ci/cli.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace assay {
namespace {

struct Ran {
  ExitCode code;
  std::string out, err;
};

Ran RunCommand(const std::vector<std::string>& arguments, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out, err;
  Console console{in, out, err, false};
  const ExitCode code = RunAssay(arguments, console);
  return {code, out.str(), err.str()};
}

bool IsOneLine(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n') == 1 && text.ends_with('\n');
}

TEST(CliTest, AMistakeIsOneLineAndExitCodeTwo) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"frobnicate"},
                                             {"check"},
                                             {"check", "rows=1"},
                                             {"check", "path=k3\nrows=1"},
                                             {"fuzz", "--cases", "0"},
                                             {"fuzz", "--cases", "many"},
                                             {"fuzz", "--distribution", "wide"},
                                             {"faults", "--names"},
                                             {"faults", "--only", "x"},
                                             {"golden", "/nonexistent"},
                                             {"list", "x"},
                                             {"gate", "--device", "tpu"}}) {
    const Ran ran = RunCommand(arguments);
    const std::string shown = testing::PrintToString(arguments);
    EXPECT_EQ(ran.code, ExitCode::kUsage) << shown;
    EXPECT_TRUE(ran.err.starts_with("assay: ")) << shown << ran.err;
    EXPECT_TRUE(IsOneLine(ran.err)) << shown << ran.err;
  }
}

TEST(CliTest, HelpGoesToStandardOutputAndPasses) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--help"}, {"check", "--help"}, {"gate", "--help"}, {"--version"}}) {
    const Ran ran = RunCommand(arguments);
    EXPECT_EQ(ran.code, ExitCode::kPass);
    EXPECT_FALSE(ran.out.empty());
    EXPECT_TRUE(ran.err.empty());
  }
}

TEST(CliTest, ListedFaultNamesAreBare) {
  const Ran ran = RunCommand({"faults", "--list", "--names"});
  EXPECT_EQ(ran.code, ExitCode::kPass);
  EXPECT_NE(ran.out.find("k3_e8m0_unguarded\n"), std::string::npos);
  EXPECT_EQ(ran.out.find(' '), std::string::npos);
}

TEST(CliTest, ARefusedCaseAloneJudgesNothing) {
  const Ran ran = RunCommand({"check", "path=batched format=mxfp4 layout=row_major rows=1"});
  EXPECT_EQ(ran.code, ExitCode::kNothingJudged);
  EXPECT_TRUE(ran.out.ends_with("\n1 passed (1 refused), 0 failed, 0 skipped\n")) << ran.out;
}

TEST(CliTest, ACheckSaysWhereTheCaseLandedAndByWhichRule) {
  const Ran ran = RunCommand({"check", "-"},
                             "path=k3 format=mxfp4 layout=transposed rows=3 hidden=64 inter=64\n");
  EXPECT_EQ(ran.code, ExitCode::kPass) << ran.out;
  EXPECT_NE(ran.out.find("k3 -> batched (e8m0_needs_per_token)"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("e8m0"), std::string::npos);
  EXPECT_TRUE(ran.out.ends_with("0 of the passed were refusals\n1 passed, 0 failed, 0 skipped\n"))
      << ran.out;
}

TEST(CliTest, APlantedFaultFailsAReplayWithItsFinding) {
  const Ran ran = RunCommand({"replay", "--fault", "k3_e8m0_unguarded",
                              "path=k3 format=mxfp4 layout=transposed rows=3 hidden=64 inter=64"});
  EXPECT_EQ(ran.code, ExitCode::kMemory) << ran.out;
  EXPECT_NE(ran.out.find("read_outside"), std::string::npos) << ran.out;
  EXPECT_TRUE(ran.out.ends_with("0 passed, 1 failed, 0 skipped\n")) << ran.out;
}

TEST(CliTest, AFaultThatCannotShowOnTheCaseIsAUsageError) {
  const Ran ran = RunCommand(
      {"replay", "--fault", "k3_e8m0_unguarded", "path=k3 format=nvfp4 layout=transposed rows=3"});
  EXPECT_EQ(ran.code, ExitCode::kUsage) << ran.out;
  EXPECT_TRUE(IsOneLine(ran.err)) << ran.err;
}

}  // namespace
}  // namespace assay
