#include "reference/containers.h"

#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "reference/bf16.h"
#include "reference/e4m3.h"
#include "reference/e8m0.h"
#include "reference/error.h"
#include "reference/small_float.h"

namespace assay {
namespace {

using GlobalScale::kDivides;
using GlobalScale::kMultiplies;
using ScaleCode::kE4m3;
using ScaleCode::kE8m0;
using ScaleCode::kFp32;

constexpr ContainerScheme kSchemes[] = {
    {"bf16", Element::kBf16},
    {"fp16", Element::kFp16},
    {"nvfp4", Element::kE2m1, kE4m3, 1, 16, kMultiplies},
    {"nvfp4_divisor", Element::kE2m1, kE4m3, 1, 16, kDivides},
    {"mxfp4", Element::kE2m1, kE8m0, 1, 32},
    {"mxfp6_e2m3", Element::kE2m3, kE8m0, 1, 32},
    {"mxfp6_e3m2", Element::kE3m2, kE8m0, 1, 32},
    {"mxfp8", Element::kE4m3, kE8m0, 1, 32},
    {"mxfp8_e5m2", Element::kE5m2, kE8m0, 1, 32},
    {"fp8_block128_fp32", Element::kE4m3, kFp32, 128, 128},
    {"fp8_block128_bf16", Element::kE4m3, ScaleCode::kBf16, 128, 128},
    {"fp8_block128_ue8m0", Element::kE4m3, kE8m0, 128, 128},
    {"fp8_block32_fp32", Element::kE4m3, kFp32, 32, 32},
    {"fp8_block32_bf16", Element::kE4m3, ScaleCode::kBf16, 32, 32},
    {"fp8_block32_ue8m0", Element::kE4m3, kE8m0, 32, 32},
    {"fp8_channel", Element::kE4m3, kFp32, 1, 0},
    {"int4_g32_gptq", Element::kInt4, ScaleCode::kFp16, 1, 32, GlobalScale::kNone,
     Int4Order::kGptq},
    {"int4_g128_gptq", Element::kInt4, ScaleCode::kFp16, 1, 128, GlobalScale::kNone,
     Int4Order::kGptq},
    {"int4_g32_awq", Element::kInt4, ScaleCode::kFp16, 1, 32, GlobalScale::kNone, Int4Order::kAwq},
    {"int4_g128_awq", Element::kInt4, ScaleCode::kFp16, 1, 128, GlobalScale::kNone,
     Int4Order::kAwq},
};

constexpr int kWordBits = 32, kWordCodes = 8;
// Nibble i of an AWQ word holds output kAwqOrder[i]; output j lies in nibble kAwqNibble[j].
constexpr std::array<int, kWordCodes> kAwqNibble{0, 4, 1, 5, 2, 6, 3, 7};

int BlocksIn(int extent, int block) { return block == 0 ? 1 : (extent + block - 1) / block; }
int BlockOf(int at, int block) { return block == 0 ? 0 : at / block; }

void Require(bool holds, const Container& m, const char* rule) {
  if (!holds)
    throw UsageError(std::string(m.scheme.name) + " " + std::to_string(m.rows) + "x" +
                     std::to_string(m.columns) + ": " + rule);
}

bool IsInt4(const Container& m) { return m.scheme.order != Int4Order::kNone; }

void RequireDimensions(const Container& m) {
  Require(m.rows > 0 && m.columns > 0, m, "both dimensions must be positive");
  if (ElementBits(m.scheme.element) < 8 && !IsInt4(m))
    Require(m.columns % m.scheme.block_columns == 0, m, "columns must be whole groups");
  if (!IsInt4(m)) return;
  Require(m.columns % m.scheme.block_columns == 0, m, "columns must be whole groups");
  Require(m.rows % kWordCodes == 0, m, "rows must fill words of eight codes");
}

double WideScale(const std::uint8_t* at, ScaleCode code) {
  if (code == kFp32) {
    float value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  const auto bits = static_cast<std::uint16_t>(at[0] | at[1] << 8);
  return code == ScaleCode::kBf16 ? double(Bf16ToFloat(bits)) : Fp16::Decode(bits);
}

double ElementValue(Element element, int code, CodePolicy policy) {
  switch (element) {
    case Element::kE2m1:
      return E2m1::Decode(code);
    case Element::kE2m3:
      return E2m3::Decode(code);
    case Element::kE3m2:
      return E3m2::Decode(code);
    case Element::kE4m3:
      return DecodeE4m3Payload(static_cast<std::uint8_t>(code), policy);
    case Element::kE5m2:
      return E5m2::Decode(code);
    case Element::kInt4:
      return code;
    case Element::kBf16:
      return Bf16ToFloat(static_cast<std::uint16_t>(code));
    case Element::kFp16:
      return Fp16::Decode(code);
  }
  return 0;
}

int ZeroPoint(const Container& m, int row, int column) {
  const int stored = ReadBits(m.zeros, ZeroBit(m, row, column), 4);
  return m.scheme.order == Int4Order::kGptq ? stored + 1 : stored;
}

}  // namespace

std::span<const ContainerScheme> ContainerSchemes() { return kSchemes; }

const ContainerScheme& SchemeNamed(std::string_view name) {
  std::string names;
  for (const ContainerScheme& scheme : kSchemes) {
    if (scheme.name == name) return scheme;
    names += (names.empty() ? "" : ", ") + std::string(scheme.name);
  }
  throw UsageError("container=" + std::string(name) + ": not a scheme; one of " + names);
}

int Container::ScaleRows() const { return BlocksIn(rows, scheme.block_rows); }
int Container::ScaleColumns() const { return BlocksIn(columns, scheme.block_columns); }

int ElementBits(Element element) {
  switch (element) {
    case Element::kE2m1:
    case Element::kInt4:
      return 4;
    case Element::kE2m3:
    case Element::kE3m2:
      return 6;
    case Element::kE4m3:
    case Element::kE5m2:
      return 8;
    case Element::kBf16:
    case Element::kFp16:
      return 16;
  }
  return 0;
}

int ScaleBytes(ScaleCode code) {
  switch (code) {
    case ScaleCode::kNone:
      return 0;
    case kFp32:
      return 4;
    case ScaleCode::kBf16:
    case ScaleCode::kFp16:
      return 2;
    case kE4m3:
    case kE8m0:
      return 1;
  }
  return 0;
}

void SizeBuffers(Container& m) {
  RequireDimensions(m);
  const std::int64_t bits = std::int64_t{m.rows} * m.columns * ElementBits(m.scheme.element);
  m.payload.assign(bits / 8, 0);
  m.scales.assign(std::size_t(m.ScaleRows()) * m.ScaleColumns() * ScaleBytes(m.scheme.scale), 0);
  m.zeros.assign(IsInt4(m) ? std::size_t(m.rows) * m.ScaleColumns() / 2 : 0, 0);
}

std::int64_t PayloadBit(const Container& m, int row, int column) {
  if (m.scheme.order == Int4Order::kGptq)
    return (std::int64_t{column / kWordCodes} * m.rows + row) * kWordBits + column % kWordCodes * 4;
  if (m.scheme.order == Int4Order::kAwq)
    return (std::int64_t{column} * (m.rows / kWordCodes) + row / kWordCodes) * kWordBits +
           kAwqNibble[row % kWordCodes] * 4;
  const int bits = ElementBits(m.scheme.element);
  if (!m.transposed) return (std::int64_t{row} * m.columns + column) * bits;
  // Whole bytes are turned: pairs of nibbles and fours of six-bit codes stay together.
  const int together = bits == 4 ? 2 : bits == 6 ? 4 : 1;
  return ((std::int64_t{column / together} * m.rows + row) * together + column % together) * bits;
}

std::int64_t ZeroBit(const Container& m, int row, int column) {
  const std::int64_t group = BlockOf(column, m.scheme.block_columns);
  const int nibble =
      m.scheme.order == Int4Order::kAwq ? kAwqNibble[row % kWordCodes] : row % kWordCodes;
  return (group * (m.rows / kWordCodes) + row / kWordCodes) * kWordBits + nibble * 4;
}

std::int64_t ScaleIndex(const Container& m, int row, int column) {
  const std::int64_t block_row = BlockOf(row, m.scheme.block_rows);
  const std::int64_t block_column = BlockOf(column, m.scheme.block_columns);
  const bool turned = m.transposed || IsInt4(m);
  return turned ? block_column * m.ScaleRows() + block_row
                : block_row * m.ScaleColumns() + block_column;
}

int ReadBits(std::span<const std::uint8_t> bytes, std::int64_t at, int width) {
  int code = 0;
  for (int bit = 0; bit < width; bit += 2, at += 2) code |= (bytes[at / 8] >> at % 8 & 3) << bit;
  return code;
}

void WriteBits(std::span<std::uint8_t> bytes, std::int64_t at, int width, int code) {
  for (int bit = 0; bit < width; bit += 2, at += 2) {
    const int shift = static_cast<int>(at % 8);
    bytes[at / 8] =
        static_cast<std::uint8_t>((bytes[at / 8] & ~(3 << shift)) | (code >> bit & 3) << shift);
  }
}

double ScaleValue(const Container& m, std::int64_t index, CodePolicy policy) {
  const std::uint8_t* at = m.scales.data() + index * ScaleBytes(m.scheme.scale);
  switch (m.scheme.scale) {
    case ScaleCode::kNone:
      return 1;
    case kE4m3:
      return kE4m3Values[*at];  // NaN codes stay NaN in a scale, whatever the policy
    case kE8m0:
      return DecodeE8m0(*at, policy);
    default:
      return WideScale(at, m.scheme.scale);
  }
}

double ExactWeight(const Container& m, int row, int column, CodePolicy policy) {
  const int code = ReadBits(m.payload, PayloadBit(m, row, column), ElementBits(m.scheme.element));
  double value = ElementValue(m.scheme.element, code, policy);
  if (IsInt4(m)) value -= ZeroPoint(m, row, column);
  if (m.scheme.scale == ScaleCode::kNone) return value;
  value *= ScaleValue(m, ScaleIndex(m, row, column), policy);
  if (m.scheme.global == kMultiplies) return value * m.global_scale;
  return m.scheme.global == kDivides ? value / m.global_scale : value;
}

std::vector<double> ExactWeights(const Container& m, CodePolicy policy) {
  std::vector<double> weights;
  weights.reserve(std::size_t(m.rows) * m.columns);
  for (int row = 0; row < m.rows; ++row)
    for (int column = 0; column < m.columns; ++column)
      weights.push_back(ExactWeight(m, row, column, policy));
  return weights;
}

}  // namespace assay
