// Cases drawn from a seed with RapidCheck's generators; only problems that some path can serve or
// refuses by a rule. The same (distribution, seed, number) gives the same case on every machine.
#pragma once

#include <cstdint>

#include "fuzz/case.h"

namespace assay {

// kSmall: hidden and inter 32..256 with median 128 (a step of 65 rows and more: 16..256), top_k <=
// 4, experts <= 16, rows <= 3 where the path takes any. kDefault: shapes weighted to edges (group,
// group+1, odd tiles), up to a few hundred, median >= 128.
enum class Distribution { kSmall, kDefault };

Case GenerateCase(Distribution distribution, std::uint64_t seed, std::uint64_t number);

}  // namespace assay
