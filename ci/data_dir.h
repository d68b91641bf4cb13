// Where the data files of the project are: in the source tree that built this program, or beside an
// installed one (<prefix>/share/assay).
#pragma once

#include <string>

namespace assay {

// The path of `name` ("ci/gate.toml"), relative to the source tree. Throws UsageError if neither
// place has it.
std::string DataPath(const std::string& name);

}  // namespace assay
