// The JSON header of a safetensors file, read as it stands and not yet trusted.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

struct HeaderEntry {
  std::string name, dtype;
  std::vector<std::uint64_t> shape, offsets;
};

// Throws UsageError (naming `file`) on anything but an object of entries with exactly dtype, shape
// and data_offsets; "__metadata__" is skipped. Names that occur twice are an error.
std::vector<HeaderEntry> ParseHeader(std::string_view json, const std::string& file);

}  // namespace assay
