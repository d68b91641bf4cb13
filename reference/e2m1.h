// E2M1, the 4-bit element of NVFP4 and MXFP4: 0 .5 1 1.5 2 3 4 6, bit 3 is the sign.
#pragma once

#include "reference/small_float.h"

namespace assay {

inline constexpr std::array<float, 16> kE2m1Values = DecodeTable<E2m1>();

// Two codes a byte: the low nibble is the even column.
struct E2m1Pair {
  float even = 0, odd = 0;
};
constexpr std::array<E2m1Pair, 256> MakeE2m1Pairs() {
  std::array<E2m1Pair, 256> pairs{};
  for (int byte = 0; byte < 256; ++byte)
    pairs[byte] = {kE2m1Values[byte & 15], kE2m1Values[byte >> 4]};
  return pairs;
}
inline constexpr std::array<E2m1Pair, 256> kE2m1Pairs = MakeE2m1Pairs();

}  // namespace assay
