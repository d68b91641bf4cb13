#include "ci/cli.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
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
                                             {"fuzz", "--cases", "9223372036854775808"},
                                             {"fuzz", "--seed", "-1"},
                                             {"fuzz", "--time", "5"},
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

TEST(CliTest, AListOfChosenFaultsHoldsNoOthers) {
  const Ran ran = RunCommand({"faults", "--only", "k3_e8m0_unguarded", "--list", "--names"});
  EXPECT_EQ(ran.code, ExitCode::kPass);
  EXPECT_EQ(ran.out, "k3_e8m0_unguarded\n");
}

TEST(CliTest, ARefusalSaysWhyItsRuleIsThere) {
  const Ran ran = RunCommand({"check", "path=batched format=mxfp4 layout=row_major rows=1"});
  EXPECT_NE(ran.out.find("refused: mxfp4_needs_transposed"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("E8M0 kernels exist for the transposed layout only"), std::string::npos)
      << ran.out;
}

TEST(CliTest, TheListOfPathsNamesFormatsThatAreNotBuiltOnceBelowTheTable) {
  const Ran ran = RunCommand({"list", "paths"});
  EXPECT_EQ(ran.out.find("refused (not_built_format)"), std::string::npos) << ran.out;
  const std::size_t below = ran.out.find("formats not built yet");
  ASSERT_NE(below, std::string::npos) << ran.out;
  EXPECT_EQ(ran.out.find("fp8_channel"), ran.out.rfind("fp8_channel"));
  EXPECT_GT(ran.out.find("fp8_channel"), below);
}

TEST(CliTest, AFuzzRunAddsToTheFindingsThatAreThere) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("assay_fuzz_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "findings.jsonl") << "earlier\n";
  const Ran ran = RunCommand({"fuzz", "--cases", "8", "--distribution", "small", "--paths",
                              "batched", "--out", folder.string()});
  std::ifstream file(folder / "findings.jsonl");
  std::string first;
  std::getline(file, first);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(ran.code, ExitCode::kPass) << ran.out << ran.err;
  EXPECT_EQ(first, "earlier");
}

TEST(CliTest, ARecordThatCannotBeKeptIsAnUnfitMachine) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("assay_full_" + std::to_string(getpid()));
  std::filesystem::create_directories(folder / "records.jsonl" / "in the way");
  const Ran ran = RunCommand({"gate", "--device", "host", "--out", folder.string()});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(ran.code, ExitCode::kUnfit) << ran.err;
  EXPECT_TRUE(IsOneLine(ran.err)) << ran.err;
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
