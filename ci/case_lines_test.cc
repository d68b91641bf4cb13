#include "ci/case_lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace assay {
namespace {

const char kFirst[] = "path=batched format=nvfp4 layout=row_major rows=2";
const char kSecond[] = "path=k3 format=nvfp4 layout=transposed rows=3";

std::vector<std::string> LinesOf(const std::vector<std::string>& arguments,
                                 const std::string& input = "") {
  std::istringstream in(input);
  std::vector<std::string> lines;
  for (const NamedCase& c : ReadCases(arguments, in)) lines.push_back(ToLine(c.value));
  return lines;
}

using Lines = std::vector<std::string>;

TEST(CaseLinesTest, OneArgumentIsOneLine) {
  EXPECT_EQ(LinesOf({kFirst, kSecond}), (Lines{kFirst, kSecond}));
}

TEST(CaseLinesTest, UnquotedFieldsMakeOneLine) {
  EXPECT_EQ(LinesOf({"path=batched", "format=nvfp4", "layout=row_major", "rows=2"}), Lines{kFirst});
  EXPECT_EQ(LinesOf({"format=nvfp4", "path=batched", "layout=row_major", "rows=2"}), Lines{kFirst});
}

TEST(CaseLinesTest, StdinHoldsLinesAndComments) {
  EXPECT_EQ(LinesOf({"-"}, std::string("# a comment\n\n  ") + kFirst + "\n" + kSecond),
            (Lines{kFirst, kSecond}));
}

TEST(CaseLinesTest, AMistakeInAFileIsNamedWithItsLine) {
  const auto path =
      std::filesystem::temp_directory_path() / ("assay_lines_" + std::to_string(getpid()) + ".txt");
  std::ofstream(path) << kFirst << "\nrows=zero\n";
  std::string message;
  try {
    LinesOf({"@" + path.string()});
  } catch (const UsageError& error) {
    message = error.what();
  }
  std::filesystem::remove(path);
  EXPECT_TRUE(message.starts_with(path.string() + ":2: ")) << message;
}

TEST(CaseLinesTest, OnlyRegularFilesOfASaneSizeAreRead) {
  EXPECT_THROW(LinesOf({"@/dev/zero"}), UsageError);
  EXPECT_THROW(LinesOf({"@" + std::filesystem::temp_directory_path().string()}), UsageError);
  const auto path =
      std::filesystem::temp_directory_path() / ("assay_huge_" + std::to_string(getpid()) + ".txt");
  std::ofstream(path) << "";
  std::filesystem::resize_file(path, (std::uintmax_t{64} << 20) + 1);  // sparse
  EXPECT_THROW(LinesOf({"@" + path.string()}), UsageError);
  std::filesystem::remove(path);
}

TEST(CaseLinesTest, AMissingFileIsAUsageError) {
  EXPECT_THROW(LinesOf({"@/nonexistent/cases.txt"}), UsageError);
}

}  // namespace
}  // namespace assay
