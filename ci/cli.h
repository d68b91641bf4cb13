// The command line of `assay`: options in, exit code out.
#pragma once

#include <string>
#include <vector>

#include "ci/console.h"
#include "ci/exit_code.h"

namespace assay {

// `arguments` without the program's name. Every error is one line on `err`: "assay: ...".
ExitCode RunAssay(const std::vector<std::string>& arguments, Console& console);

}  // namespace assay
