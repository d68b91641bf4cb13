#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "ci/cli.h"

namespace {

// Verdicts that nobody can read are none: a full disk or a closed pipe behind stdout is not a pass.
bool OutputArrived() {
  std::cout.flush();
  return std::cout.good() && std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  using assay::ExitCode;
  assay::Console console{std::cin, std::cout, std::cerr, isatty(STDOUT_FILENO) == 1};
  ExitCode code = assay::RunAssay({argv + 1, argv + argc}, console);
  if (!OutputArrived()) {
    std::cerr << "assay: standard output was lost: free the disk or name another place for it\n";
    code = Worse(code, ExitCode::kUnfit);
  }
  return static_cast<int>(code);
}
