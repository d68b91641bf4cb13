// E4M3 (fn): largest 448, 0x7F and 0xFF are NaN. Scale of NVFP4, element of FP8.
#pragma once

#include "reference/small_float.h"

namespace assay {

inline constexpr std::array<float, 256> kE4m3Values = DecodeTable<E4m3>();

}  // namespace assay
