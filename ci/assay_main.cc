#include <unistd.h>

#include <iostream>

#include "ci/cli.h"

int main(int argc, char** argv) {
  assay::Console console{std::cin, std::cout, std::cerr, isatty(STDOUT_FILENO) == 1};
  return static_cast<int>(assay::RunAssay({argv + 1, argv + argc}, console));
}
