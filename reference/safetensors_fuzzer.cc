// libFuzzer target: any bytes are a safetensors file that is read or refused by a UsageError, never
// a crash, a read outside the input or another exception. What is read is used: every byte of every
// tensor, and its values where they are plain. Experts that the names promise are looked up too.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/error.h"
#include "reference/safetensors.h"

namespace assay {
namespace {

std::uint8_t Touch(const Safetensors& file) {
  std::uint8_t sum = 0;
  for (const auto& [name, view] : file.Tensors()) {
    if (view.Count() < 0) __builtin_trap();
    for (const std::uint8_t byte : view.bytes) sum = static_cast<std::uint8_t>(sum + byte);
    try {
      if (file.Doubles(name).size() != std::size_t(view.Count())) __builtin_trap();
    } catch (const UsageError&) {  // no plain values
    }
  }
  return sum;
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    volatile std::uint8_t sink =
        assay::Touch(assay::Safetensors::Parse({data, data + size}, "input"));
    (void)sink;
  } catch (const assay::UsageError&) {
  }
  return 0;
}
