// Number formats and elementary functions of the kernels. Every function gives the same bits on
// host and device. Judged by reference/, never used by it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace assay {

// BF16, rounded to nearest even; every NaN becomes 0x7FFF (machines differ in the NaN they make;
// 0xFFFF is left for "never written").
struct Bf16 {
  std::uint16_t bits;

  static constexpr Bf16 Round(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {0x7FFF};
    return {static_cast<std::uint16_t>((bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16)};
  }
  constexpr float ToFloat() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

// E2M1: 0 .5 1 1.5 2 3 4 6, bit 3 the sign. The nibbles of the constant are twice those values.
// No arithmetic on subnormals: flush-to-zero would lose +-0.5.
constexpr float DecodeE2m1(std::uint32_t code) {
  const auto twice = static_cast<float>((0xC8643210u >> (4 * (code & 7u))) & 15u);
  return twice * ((code & 8u) != 0 ? -0.5f : 0.5f);
}

// E4M3 (bias 7, no infinity, 0x7F and 0xFF are NaN).
constexpr float DecodeE4m3(std::uint8_t code) {
  const std::uint32_t magnitude = code & 0x7Fu;
  const std::uint32_t sign = (code & 0x80u) << 24;
  if (magnitude == 0x7Fu) return std::numeric_limits<float>::quiet_NaN();
  const float value = magnitude < 8u ? static_cast<float>(magnitude) * 0x1p-9f
                                     : std::bit_cast<float>((magnitude << 20) + (120u << 23));
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) | sign);
}

// E8M0 as the OCP standard has it: 2^(code - 127), 255 is NaN. Code 0 is a float subnormal.
constexpr float DecodeE8m0Standard(std::uint8_t code) {
  if (code == 0xFFu) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>(code == 0 ? 0x00400000u : static_cast<std::uint32_t>(code) << 23);
}

// E8M0 as production has it: 0 and 255 decode to 0.0.
constexpr float DecodeE8m0Production(std::uint8_t code) {
  return code == 0xFFu ? 0.0f : std::bit_cast<float>(static_cast<std::uint32_t>(code) << 23);
}

constexpr float PowerOfTwo(int exponent) {  // -126 <= exponent <= 127
  return std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 127) << 23);
}

// e^x within 1 ulp of every float, subnormal results included (measured over all 2^32 inputs).
// x = n ln2 + r, |r| <= ln2 / 2; e^r = 1 + r + r^2 p(r), where p minimises the relative error
// (5.2e-11 before its coefficients are rounded). 2^n is applied as two powers that are normal.
constexpr float Exp(float x) {
  if (!(x <= 88.8f)) return x > 88.8f ? std::numeric_limits<float>::infinity() : x;
  if (x < -104.0f) return 0.0f;
  const float n = fmaf(x, 0x1.715476p+0f, 0x1.8p+23f) - 0x1.8p+23f;  // nearest integer to x / ln2
  const float r = fmaf(n, -0x1.7f7d1cp-20f, fmaf(n, -0x1.62e400p-1f, x));
  float p = fmaf(0x1.9f08a4p-13f, r, 0x1.6d8cf4p-10f);
  p = fmaf(p, r, 0x1.111270p-7f);
  p = fmaf(p, r, 0x1.55548ep-5f);
  p = fmaf(p, r, 0x1.555554p-3f);
  p = fmaf(p, r, 0.5f);
  const float result = 1.0f + fmaf(p * r, r, r);
  const int exponent = static_cast<int>(n);
  return result * PowerOfTwo(exponent / 2) * PowerOfTwo(exponent - exponent / 2);
}

// log(1 + x) for 0 <= x <= 1, within 2 ulp (measured over all of them): 2 atanh(s) of s = x / (2 +
// x), as t + t z (1/3 + z/5 + ...) with t = 2 s, z = s^2 <= 1/9; the first term left out is z^8/17,
// 1.4e-9. Sum, quotient and last addition err by half a unit each. Below 2^-24 it is x.
constexpr float Log1p(float x) {
  if (x < 0x1p-24f) return x;
  const float s = x / (2.0f + x), z = s * s;
  float p = fmaf(1.0f / 15, z, 1.0f / 13);
  p = fmaf(p, z, 1.0f / 11);
  p = fmaf(p, z, 1.0f / 9);
  p = fmaf(p, z, 1.0f / 7);
  p = fmaf(p, z, 1.0f / 5);
  p = fmaf(p, z, 1.0f / 3);
  const float t = s + s;
  return fmaf(t * z, p, t);
}

constexpr float Sqrt(float x) { return sqrtf(x); }  // IEEE: -prec-sqrt is nvcc's default

// log(1 + e^x), without overflow for large x and without loss for small.
constexpr float Softplus(float x) { return fmaxf(x, 0.0f) + Log1p(Exp(-fabsf(x))); }

constexpr float Sigmoid(float x) { return 1.0f / (1.0f + Exp(-x)); }
constexpr float Silu(float x) { return x / (1.0f + Exp(-x)); }

}  // namespace assay
