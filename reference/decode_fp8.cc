#include "reference/decode_fp8.h"

#include <algorithm>
#include <cstring>

#include "reference/e4m3.h"
#include "reference/e8m0.h"

namespace assay {
namespace {

constexpr int kBlock = 128, kMxGroup = 32;

double ScaleAt(const PackedMatrix& m, CodePolicy policy, int row, int column) {
  if (m.format == Format::kMxfp8) {
    const std::size_t groups = (m.columns + kMxGroup - 1) / kMxGroup;
    return DecodeE8m0(m.scales[row * groups + column / kMxGroup], policy);
  }
  const std::size_t across = (m.columns + kBlock - 1) / kBlock;
  const std::size_t at =
      m.format == Format::kFp8Channel ? row : row / kBlock * across + column / kBlock;
  float scale;
  std::memcpy(&scale, m.scales.data() + 4 * at, sizeof scale);
  return scale;
}

}  // namespace

void DecodeFp8Row(const PackedMatrix& m, CodePolicy policy, int row, double* out) {
  const std::uint8_t* codes = m.payload.data() + std::size_t(row) * m.columns;
  for (int first = 0; first < m.columns; first += kMxGroup) {
    const double scale = ScaleAt(m, policy, row, first);
    for (int c = first; c < std::min(m.columns, first + kMxGroup); ++c)
      out[c] = DecodeE4m3Payload(codes[c], policy) * scale;
  }
}

}  // namespace assay
