#include "gpu/host/tensor_core.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace assay {
namespace {

// Sixteen products and the addend are aligned to the largest exponent (of a product: the sum of its
// factors'), cut off 25 bits below it and added exactly; the sum keeps 24 significant bits.
constexpr int kRows = 16, kColumns = 8, kDepth = 16, kFraction = 25, kNoExponent = -100000;

// magnitude * 2^(exponent - 23), magnitude of 24 bits; 0 is {0, kNoExponent}.
struct Number {
  std::int64_t magnitude = 0;
  int exponent = kNoExponent;
  bool negative = false, finite = true;
  float value = 0;
};

Number NumberOf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const int field = static_cast<int>(bits >> 23 & 255);
  Number n;
  n.value = value;
  n.negative = bits >> 31 != 0;
  n.finite = field != 255;
  if (value == 0 || !n.finite) return n;
  const std::uint32_t fraction = bits & 0x7FFFFFu;
  const int missing = field == 0 ? std::countl_zero(fraction) - 8 : 0;  // of a subnormal
  n.magnitude = field == 0 ? std::int64_t{fraction} << missing : fraction | 0x800000u;
  n.exponent = (field == 0 ? -126 : field - 127) - missing;
  return n;
}

// Toward zero.
std::int64_t Shifted(std::int64_t magnitude, int left) {
  if (left >= 0) return magnitude << left;
  return left > -63 ? magnitude >> -left : 0;
}

// sum * 2^unit with 24 significant bits, below the normal range on the grid of subnormals.
float Truncated(std::int64_t sum, int unit) {
  const std::int64_t magnitude = sum < 0 ? -sum : sum;
  if (magnitude == 0) return 0;
  const int top = 63 - std::countl_zero(static_cast<std::uint64_t>(magnitude)) + unit;
  const int grid = std::max({top - 23, -149, unit});
  const double kept = std::ldexp(static_cast<double>(magnitude >> (grid - unit)), grid);
  return static_cast<float>(sum < 0 ? -kept : kept);
}

using Factors = std::array<Number, kDepth>;

// Infinities and NaN: IEEE addition says which.
float NotFinite(const Factors& a, const Factors& b, float addend) {
  double sum = addend;
  for (int k = 0; k < kDepth; ++k) sum += double{a[k].value} * b[k].value;
  return static_cast<float>(sum);
}

float Element(const Factors& a, const Factors& b, float addend) {
  const Number c = NumberOf(addend);
  int largest = c.exponent;
  bool finite = c.finite;
  for (int k = 0; k < kDepth; ++k) {
    finite &= a[k].finite && b[k].finite;
    if (a[k].magnitude != 0 && b[k].magnitude != 0)
      largest = std::max(largest, a[k].exponent + b[k].exponent);
  }
  if (!finite) return NotFinite(a, b, addend);
  if (largest == kNoExponent) return 0;
  const std::int64_t addend_units = Shifted(c.magnitude, c.exponent - 23 - largest + kFraction);
  std::int64_t sum = c.negative ? -addend_units : addend_units;
  for (int k = 0; k < kDepth; ++k) {
    // BF16 leaves 16 of the 24 bits empty: the product is of 16 bits, exponent - 14.
    const std::int64_t product = (a[k].magnitude >> 16) * (b[k].magnitude >> 16);
    if (product == 0) continue;
    const std::int64_t units =
        Shifted(product, a[k].exponent + b[k].exponent - 14 - largest + kFraction);
    sum += a[k].negative != b[k].negative ? -units : units;
  }
  return Truncated(sum, largest - kFraction);
}

Number Half(const std::uint32_t* words, int word, int half) {
  if (words == nullptr) return {};
  const std::uint32_t bits = words[word] >> (16 * half) & 0xFFFFu;
  return NumberOf(std::bit_cast<float>(bits << 16));
}

}  // namespace

void MultiplyAccumulate(const std::array<MmaLane, kWarpSize>& lanes) {
  std::array<Factors, kRows> a;
  std::array<Factors, kColumns> b;
  for (int lane = 0; lane < kWarpSize; ++lane) {
    const int row = lane / 4, pair = lane % 4 * 2;
    for (int half = 0; half < 2; ++half) {
      for (int word = 0; word < 4; ++word)
        a[row + word % 2 * 8][pair + word / 2 * 8 + half] = Half(lanes[lane].a, word, half);
      for (int word = 0; word < 2; ++word)
        b[row][pair + word * 8 + half] = Half(lanes[lane].b, word, half);
    }
  }
  for (int lane = 0; lane < kWarpSize; ++lane) {
    float* c = lanes[lane].c;
    if (c == nullptr) continue;
    for (int i = 0; i < 4; ++i)
      c[i] = Element(a[lane / 4 + i / 2 * 8], b[lane % 4 * 2 + i % 2], c[i]);
  }
}

}  // namespace assay
