#include "reference/decode_int4.h"

#include "reference/formats.h"
#include "reference/small_float.h"

namespace assay {
namespace {

// Nibble `at` of a buffer, the low one of each byte first: words are little endian.
int Nibble(const std::vector<std::uint8_t>& bytes, std::size_t at) {
  return bytes[at / 2] >> (at % 2 * 4) & 15;
}

double ScaleAt(const PackedMatrix& m, std::size_t group, std::size_t row) {
  const std::uint8_t* bytes = m.scales.data() + 2 * (group * std::size_t(m.rows) + row);
  return Fp16::Decode(bytes[0] | bytes[1] << 8);
}

}  // namespace

void DecodeInt4Row(const PackedMatrix& m, int row, double* out) {
  const auto rows = static_cast<std::size_t>(m.rows), r = static_cast<std::size_t>(row);
  const auto size = static_cast<std::size_t>(GroupSize(m.format));
  for (std::size_t c = 0; c < std::size_t(m.columns); ++c) {
    const std::size_t group = c / size;
    const int zero = Nibble(m.zeros, (group * (rows / 8) + r / 8) * 8 + r % 8) + 1;
    const int code = Nibble(m.payload, (c / 8 * rows + r) * 8 + c % 8);
    out[c] = (code - zero) * ScaleAt(m, group, r);
  }
}

}  // namespace assay
