// Where a command writes, and whether a person watches. Tests give it string streams.
#pragma once

#include <istream>
#include <ostream>
#include <string>
#include <string_view>

namespace assay {

struct Console {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
  bool terminal = false;  // `out` is a terminal: bars may be redrawn
};

// One line for stderr: line breaks and other control bytes become spaces.
std::string OneLine(std::string_view text);

}  // namespace assay
