// A RunRecord as bytes, to hand it to another process of the same build.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "gpu/run/run_record.h"

namespace assay {

std::vector<std::byte> ToBytes(const RunRecord& record);
// Throws EnvironmentError if the bytes are cut off, too many, or name a length they do not have.
RunRecord RunRecordFromBytes(std::span<const std::byte> bytes);

}  // namespace assay
