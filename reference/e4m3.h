// E4M3 (fn): largest 448, 0x7F and 0xFF are NaN. Scale of NVFP4, element of FP8.
#pragma once

#include "reference/problem.h"
#include "reference/small_float.h"

namespace assay {

inline constexpr std::array<float, 256> kE4m3Values = DecodeTable<E4m3>();

// A weight: the production engine reads both NaN codes as 0.0. As a scale they are NaN to
// everybody.
constexpr float DecodeE4m3Payload(std::uint8_t code, CodePolicy policy) {
  const bool nan = (code & 0x7F) == E4m3::kNanCode;
  return nan && policy == CodePolicy::kProduction ? 0.0f : kE4m3Values[code];
}

}  // namespace assay
