// A room includes only rooms before it in the list; tests and main files may include any.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <regex>
#include <string>
#include <vector>

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kRooms = {"reference", "reports", "gpu", "oracle",
                                                    "fuzz",      "bench",   "ci"};

// reference and reports come first and use no other room, not even each other.
bool MayInclude(const std::string& room, const std::string& other) {
  if (room == other) return true;
  if (room == "reference" || room == "reports") return false;
  return std::find(kRooms.begin(), kRooms.end(), other) <
         std::find(kRooms.begin(), kRooms.end(), room);
}

bool IsRoom(const std::string& name) {
  return std::find(kRooms.begin(), kRooms.end(), name) != kRooms.end();
}

bool IsExempt(const fs::path& file) {
  const std::string stem = file.stem().string();
  return stem.ends_with("_test") || stem.ends_with("_main") || stem.ends_with("_bench") ||
         stem.ends_with("_fuzzer");
}

std::vector<std::string> RoomsIncluded(std::istream& in) {
  static const std::regex include(R"re(^\s*#\s*include\s*"([^/"]+)/[^"]*")re");
  std::vector<std::string> rooms;
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (std::regex_search(line, match, include) && IsRoom(match[1])) rooms.push_back(match[1]);
  }
  return rooms;
}

std::vector<fs::path> SourcesOf(std::string_view room) {
  std::vector<fs::path> files;
  const fs::path folder = fs::path(ASSAY_SOURCE_DIR) / room;
  if (!fs::exists(folder)) return files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    const bool source = extension == ".h" || extension == ".cc" || extension == ".cu" ||
                        extension == ".cuh" || extension == ".in";
    if (source && !IsExempt(entry.path())) files.push_back(entry.path());
  }
  return files;
}

TEST(RoomsTest, ARoomIncludesOnlyRoomsBeforeIt) {
  int includes = 0;
  for (std::string_view room : kRooms) {
    for (const fs::path& file : SourcesOf(room)) {
      std::ifstream in(file);
      for (const std::string& other : RoomsIncluded(in)) {
        ++includes;
        EXPECT_TRUE(MayInclude(std::string(room), other))
            << file.string() << " includes " << other << "/, which " << room << "/ may not use";
      }
    }
  }
  EXPECT_GT(includes, 100) << "the sources were not found";
}

TEST(RoomsTest, TheRuleItselfTellsRightFromWrong) {
  EXPECT_TRUE(MayInclude("oracle", "reports"));
  EXPECT_TRUE(MayInclude("ci", "fuzz"));
  EXPECT_FALSE(MayInclude("oracle", "fuzz"));
  EXPECT_FALSE(MayInclude("reports", "reference"));
  EXPECT_FALSE(MayInclude("reference", "reports"));
}

TEST(RoomsTest, IncludesAreReadAsTheCompilerReadsThem) {
  std::istringstream in(
      "#include \"gpu/paths.h\"\n  #  include \"fuzz/case.h\"\n#include <ci/x.h>\n"
      "// #include \"oracle/judge.h\"\n#include \"local.h\"\n");
  EXPECT_EQ(RoomsIncluded(in), (std::vector<std::string>{"gpu", "fuzz"}));
}

}  // namespace
}  // namespace assay
