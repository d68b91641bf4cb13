#include "ci/case_lines.h"

#include <fmt/format.h>

#include <fstream>

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

void ReadFile(const std::string& path, std::vector<NamedCase>& cases) {
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
