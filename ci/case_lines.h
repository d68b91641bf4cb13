// Case lines from the command line: written out, from a file (@cases.txt) or from stdin (-).
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "fuzz/case.h"

namespace assay {

struct NamedCase {
  Case value;
  std::string origin;  // "cases.txt:3"; empty for the command line
};

// A case line may come as one argument or as one argument per field. Empty lines and those that
// start with # are left out. Throws UsageError, with file and line where there is one.
std::vector<NamedCase> ReadCases(const std::vector<std::string>& arguments, std::istream& in);

std::vector<NamedCase> ReadCaseFile(const std::string& path);

}  // namespace assay
