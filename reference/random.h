// Counter-based randomness: the value at an index depends on (seed, tensor, expert, index) alone,
// so any part of any tensor is drawn without the others and is the same on every machine.
#pragma once

#include <cstdint>

namespace assay {

// The finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words.
constexpr std::uint64_t MixBits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

class RandomStream {
 public:
  constexpr RandomStream(std::uint64_t seed, std::uint64_t tensor, std::int64_t expert = 0)
      : key_(MixBits(MixBits(MixBits(seed + kStep) ^ (tensor * kStep)) ^
                     (static_cast<std::uint64_t>(expert) * 0xD1B54A32D192ED03ull))) {}

  constexpr std::uint64_t At(std::uint64_t index) const { return MixBits(key_ + index * kStep); }

  // Sum of four uniform 16-bit integers less its mean 2 * 65535: bell-shaped, standard deviation
  // 37837 (= 65536 sqrt(4 / 12)), 18 bits and a sign.
  constexpr std::int32_t Bell(std::uint64_t index) const {
    const std::uint64_t word = At(index);
    return static_cast<std::int32_t>((word & 0xFFFF) + ((word >> 16) & 0xFFFF) +
                                     ((word >> 32) & 0xFFFF) + (word >> 48)) -
           131070;
  }

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15ull;
  std::uint64_t key_;
};

// Largest r with r * r <= n.
constexpr std::uint64_t IntegerSqrt(std::uint64_t n) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 31; bit > 0; bit >>= 1)
    if ((root + bit) * (root + bit) <= n) root += bit;
  return root;
}

// 2^exponent, exactly, for exponents of normal doubles.
constexpr double PowerOfTwo(int exponent) {
  double value = 1;
  for (; exponent > 0; --exponent) value *= 2;
  for (; exponent < 0; ++exponent) value /= 2;
  return value;
}

}  // namespace assay
