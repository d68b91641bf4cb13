// What a runner must return whatever its kernels did.
#pragma once

#include <cstdint>

#include "gpu/run/run_record.h"

namespace assay {

// Throws std::logic_error, one line, if output, ids, weights or logits have another extent than the
// problem says: that is a fault of the harness, not of a kernel.
void RequireShape(const Problem& problem, const RunRecord& run);

// FNV-1a, 64 bits, of the output's bytes (little endian).
std::uint64_t OutputHash(const RunRecord& run);

}  // namespace assay
