#include "ci/case_lines.h"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace assay {
namespace {

NamedCase Parse(const std::string& line, const std::string& origin) {
  if (origin.empty()) return {ParseCase(line), origin};
  try {
    return {ParseCase(line), origin};
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}", origin, error.what()));
  }
}

void ReadStream(std::istream& in, const std::string& name, std::vector<NamedCase>& cases) {
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::size_t first = line.find_first_not_of(" \t\r");
    if (first == std::string::npos || line[first] == '#') continue;
    cases.push_back(Parse(line, fmt::format("{}:{}", name, number)));
  }
}

// A folder reads as nothing and a device never ends.
void RequireCaseFile(const std::string& path) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;  // said when it is opened
  if (!std::filesystem::is_regular_file(path, ignored)) {
    throw UsageError(
        fmt::format("case file '{}' is no regular file: give a text file, or - for stdin", path));
  }
  const std::uintmax_t bytes = std::filesystem::file_size(path, ignored);
  if (bytes > kMostBytes) {
    throw UsageError(fmt::format("case file '{}' has {} bytes, at most {} are read: split it", path,
                                 bytes, kMostBytes));
  }
}

void ReadFile(const std::string& path, std::vector<NamedCase>& cases) {
  RequireCaseFile(path);
  std::ifstream file(path);
  if (!file) {
    throw UsageError(
        fmt::format("case file '{}' cannot be read: give the path of a text file with "
                    "one case line a line",
                    path));
  }
  ReadStream(file, path, cases);
}

bool HasPath(const std::string& text) { return text.find("path=") != std::string::npos; }

// Whether `argument` goes on with the unquoted case line that the arguments before it began.
bool Continues(const std::string& line, const std::string& argument) {
  return !line.empty() && (!HasPath(line) || !HasPath(argument));
}

}  // namespace

std::vector<NamedCase> ReadCases(const std::vector<std::string>& arguments, std::istream& in) {
  std::vector<NamedCase> cases;
  std::string line;
  const auto flush = [&] {
    if (!line.empty()) cases.push_back(Parse(line, ""));
    line.clear();
  };
  for (const std::string& argument : arguments) {
    if (argument == "-") {
      flush();
      ReadStream(in, "stdin", cases);
    } else if (argument.starts_with('@')) {
      flush();
      ReadFile(argument.substr(1), cases);
    } else {
      if (!Continues(line, argument)) flush();
      line += (line.empty() ? "" : " ") + argument;
    }
  }
  flush();
  return cases;
}

std::vector<NamedCase> ReadCaseFile(const std::string& path) {
  std::vector<NamedCase> cases;
  ReadFile(path, cases);
  return cases;
}

}  // namespace assay
