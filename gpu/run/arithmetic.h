// Whether this process computes the bits that every other machine computes.
#pragma once

#include <string>

namespace assay {

std::string ProcessorName();  // "model name" of /proc/cpuinfo, or "unknown processor"

}  // namespace assay
