// A kernel made the GPU stop: a trap, an illegal address, a misaligned one. The process's CUDA
// context is dead from then on, so that every later run of it fails as well.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace assay {

struct DeviceFault : std::runtime_error {
  DeviceFault(const std::string& message, std::string what_it_did)
      : std::runtime_error(message), doing(std::move(what_it_did)) {}
  std::string doing;  // the kernel, or the step of the runner in which it came to light
};

}  // namespace assay
