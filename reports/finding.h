// One finding: what a check saw, for a person and for a machine. Plain data.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace assay {

struct Finding {
  std::string check;   // memory ownership unwritten poison repeat numeric fused routing launches
                       // power host_bits
  std::string path;    // token of the path whose kernels ran
  std::string kernel;  // "" if no single kernel is to blame
  std::string error_class;  // e.g. read_outside, wrong_group, out_of_contract
  std::string summary;      // one line
  std::vector<std::pair<std::string, std::string>> evidence;  // in the order to print
  std::string case_line;                                      // the whole repro
  std::string replay;                                         // the command

  // check, path, kernel and class: the same fault in two cases has one fingerprint.
  std::string Fingerprint() const;
};

}  // namespace assay
