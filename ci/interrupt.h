// Ctrl-C and SIGTERM: the first asks a command to stop cleanly, the second ends the process.
#pragma once

namespace assay {

// While one lives, the first signal only sets Interrupted().
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
};

bool Interrupted();

}  // namespace assay
