#include "gpu/run/arithmetic.h"

#include <cmath>
#include <fstream>

#include "gpu/kernels/numeric.h"
#include "gpu/run/runner.h"

namespace assay {
namespace {

// Kept from the optimiser, so that the probes measure this process and not the compiler.
volatile float g_tiny = 0x1p-126f, g_half = 0.5f, g_three = 3.0f, g_one = 1.0f;
volatile float g_a = 0x1.000002p+0f, g_b = 0x1.fffffcp-1f, g_c = -1.0f;

bool HasFma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}
bool FlushesSubnormals() { return g_tiny * g_half == 0.0f; }
bool SubnormalsReadAsZero() {
  volatile float subnormal = 0x1p-130f;
  return subnormal * 0x1p30f == 0.0f;
}
// a * b rounds to 1, so a * b - 1 is 0; contracted to one rounding it is -2^-46 * ...
bool Contracts() {
  const float product = g_a * g_b;
  const float separate = product + g_c;
  return separate != 0.0f && fmaf(g_a, g_b, g_c) == separate;
}
bool DividesWrongly() { return g_one / g_three != 0x1.555556p-2f; }

}  // namespace

std::optional<std::string> ArithmeticProblem() {
  if (!HasFma())
    return "this processor has no FMA instruction: fmaf would be a library call; use one that has";
  if (FlushesSubnormals() || SubnormalsReadAsZero())
    return "flush-to-zero is set (something was linked with -ffast-math): FP32 bits would differ "
           "from the GPU's; link without it";
  if (Contracts()) return "a*b+c was contracted to one rounding: compile with -ffp-contract=off";
  if (DividesWrongly()) return "1/3 is not correctly rounded: compile without fast division";
  return std::nullopt;
}

std::string ProcessorName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const auto colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos)
      return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace assay
