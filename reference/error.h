// Errors a caller can tell apart. Each message is one line: the value, the rule, the way out.
#pragma once

#include <stdexcept>
#include <string>

namespace assay {

// The caller's input is wrong (a case line, an option, a file): exit code 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// This machine cannot do it (no GPU, no FMA, full disk): exit code 5.
struct EnvironmentError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// A feature that the reference does not build yet; the message names it.
struct UnsupportedProblem : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace assay
