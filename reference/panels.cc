#include "reference/panels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "reference/bf16.h"
#include "reference/decode_fp8.h"
#include "reference/decode_int4.h"
#include "reference/e2m1.h"
#include "reference/e4m3.h"
#include "reference/e8m0.h"
#include "reference/formats.h"

namespace assay {
namespace {

using Panel = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

void DecodeNvfp4(const PackedMatrix& m, int row, double* production, double* exact) {
  const std::uint8_t* codes = m.payload.data() + std::size_t(row) * m.columns / 2;
  const std::uint8_t* scales = m.scales.data() + std::size_t(row) * m.columns / 16;
  for (int group = 0; group < m.columns / 16; ++group) {
    const float scale = kE4m3Values[scales[group]];
    const float formed = scale * m.global_scale;
    const double real = double{scale} * double{m.global_scale};
    // Two passes: table look-ups, then products that the compiler turns into vector code.
    std::array<float, 16> values;
    for (int i = 0; i < 8; ++i, ++codes) {
      const E2m1Pair pair = kE2m1Pairs[*codes];
      values[2 * i] = pair.even;
      values[2 * i + 1] = pair.odd;
    }
    for (int i = 0; i < 16; ++i) production[16 * group + i] = values[i] * formed;
    for (int i = 0; i < 16; ++i) exact[16 * group + i] = values[i] * real;
  }
}

void DecodeMxfp4(const PackedMatrix& m, CodePolicy policy, int row, double* out) {
  const std::uint8_t* codes = m.payload.data() + std::size_t(row) * m.columns / 2;
  const std::uint8_t* scales = m.scales.data() + std::size_t(row) * m.columns / 32;
  for (int group = 0; group < m.columns / 32; ++group) {
    const double scale = DecodeE8m0(scales[group], policy);
    for (int i = 0; i < 16; ++i, ++codes, out += 2) {
      const E2m1Pair pair = kE2m1Pairs[*codes];
      out[0] = pair.even * scale;
      out[1] = pair.odd * scale;
    }
  }
}

void DecodeBf16(const PackedMatrix& m, int row, double* out) {
  const std::uint8_t* bytes = m.payload.data() + std::size_t(row) * m.columns * 2;
  for (int i = 0; i < m.columns; ++i, bytes += 2)
    out[i] = Bf16ToFloat(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8));
}

constexpr int kTileInputs = 256;
constexpr int kOrderedBlock = 32;

// Eight bytes at once: the compiler may not keep single ones, which could alias what is written.
std::uint64_t LoadWord(const std::uint8_t* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}
static_assert(std::endian::native == std::endian::little);

// Two codes of a byte as doubles: one 16-byte load.
struct alignas(16) E2m1Doubles {
  double even = 0, odd = 0;
};
constexpr std::array<E2m1Doubles, 256> MakeE2m1Doubles() {
  std::array<E2m1Doubles, 256> pairs{};
  for (int byte = 0; byte < 256; ++byte)
    pairs[byte] = {kE2m1Pairs[byte].even, kE2m1Pairs[byte].odd};
  return pairs;
}
constexpr std::array<E2m1Doubles, 256> kE2m1Doubles = MakeE2m1Doubles();

// Exact weights [first, first + count) of a row; both are multiples of the group.
template <int kGroup, class ScaleOf>
void DecodeFp4Range(const PackedMatrix& m, int row, int first, int count, double* out,
                    ScaleOf scale_of) {
  const std::uint8_t* codes = m.payload.data() + (std::size_t(row) * m.columns + first) / 2;
  const std::uint8_t* scales = m.scales.data() + (std::size_t(row) * m.columns + first) / kGroup;
  for (int at = 0; at < count; at += kGroup, ++scales) {
    const double scale = scale_of(*scales);
    for (int part = 0; part < kGroup / 16; ++part, codes += 8, out += 16) {
      const std::uint64_t word = LoadWord(codes);
      // Explicit pairs: left to itself, GCC 12 shuffles eight groups at once through the stack.
      for (int i = 0; i < 8; ++i)
        Eigen::Array2d::Map(out + 2 * i) =
            Eigen::Array2d::MapAligned(&kE2m1Doubles[word >> (8 * i) & 255].even) * scale;
    }
  }
}

void DecodeBf16Range(const PackedMatrix& m, int row, int first, int count, double* out) {
  const std::uint8_t* bytes = m.payload.data() + (std::size_t(row) * m.columns + first) * 2;
  for (int i = 0; i < count; ++i, bytes += 2)
    out[i] = Bf16ToFloat(static_cast<std::uint16_t>(bytes[0] | bytes[1] << 8));
}

void DecodeExactRange(const PackedMatrix& m, CodePolicy policy, int row, int first, int count,
                      double* out) {
  switch (m.format) {
    case Format::kNvfp4:
      return DecodeFp4Range<16>(m, row, first, count, out, [&](std::uint8_t code) {
        return double{kE4m3Values[code]} * double{m.global_scale};
      });
    case Format::kMxfp4:
      return DecodeFp4Range<32>(m, row, first, count, out,
                                [&](std::uint8_t code) { return DecodeE8m0(code, policy); });
    case Format::kBf16:
      return DecodeBf16Range(m, row, first, count, out);
    default:  // whole rows, see TileInputs
      return DecodeRow(m, policy, row, out, out);
  }
}

// The smallest float that is not below a magnitude. In the normal range the nearest one is near
// enough: it errs by u, which the slack of AddMagnitudes covers.
float FloatAbove(double magnitude) {
  const auto nearest = static_cast<float>(magnitude);
  if (magnitude >= 0x1p-126 || !(nearest < magnitude)) return nearest;
  return nearest + 0x1p-149f;
}

// Part of a row in all forms that a product with bounds needs.
struct RowForms {
  double *production, *exact;     // exact is the same memory where the format makes no difference
  float *magnitude, *correction;  // exact - production in FP32, in place of exact; or nullptr
};

using Group = Eigen::Array<float, 16, 1>;

constexpr std::array<std::uint64_t, 256> MakeE2m1PairBits() {
  std::array<std::uint64_t, 256> bits{};
  for (int byte = 0; byte < 256; ++byte)
    bits[byte] = std::bit_cast<std::uint64_t>(kE2m1Pairs[byte]);
  return bits;
}
constexpr std::array<std::uint64_t, 256> kE2m1PairBits = MakeE2m1PairBits();

// NVFP4: as the kernels form it, fl32(e2m1 * fl32(e4m3 * global)), and the real product.
void DecodeNvfp4Forms(const PackedMatrix& m, int row, int first, int count, const RowForms& out) {
  const std::uint8_t* codes = m.payload.data() + (std::size_t(row) * m.columns + first) / 2;
  const std::uint8_t* scales = m.scales.data() + (std::size_t(row) * m.columns + first) / 16;
  for (int at = 0; at < count; at += 16, ++scales, codes += 8) {
    const float scale = kE4m3Values[*scales], formed = scale * m.global_scale;
    const double real = double{scale} * double{m.global_scale};
    const std::uint64_t word = LoadWord(codes);
    if (out.correction == nullptr)
      for (int i = 0; i < 8; ++i)
        Eigen::Array2d::Map(out.exact + at + 2 * i) =
            Eigen::Array2d::MapAligned(&kE2m1Doubles[word >> (8 * i) & 255].even) * real;
    std::array<std::uint64_t, 8> pairs;
    for (int i = 0; i < 8; ++i) pairs[i] = kE2m1PairBits[word >> (8 * i) & 255];
    Group values;
    std::memcpy(values.data(), pairs.data(), sizeof pairs);
    // The difference of code * real and the formed weight, both exact in double.
    if (out.correction != nullptr)
      Group::Map(out.correction + at) =
          (values.cast<double>() * real - (values * formed).cast<double>()).cast<float>();
    values *= formed;
    Group::Map(out.magnitude + at) = values.abs();
    for (int i = 0; i < 16; ++i) out.production[at + i] = values[i];
  }
}

void DecodeForms(const PackedMatrix& m, CodePolicy policy, int row, int first, int count,
                 const RowForms& out) {
  if (m.format == Format::kNvfp4) return DecodeNvfp4Forms(m, row, first, count, out);
  DecodeExactRange(m, policy, row, first, count, out.production);
  for (int i = 0; i < count; ++i) out.magnitude[i] = FloatAbove(std::fabs(out.production[i]));
}

// Inputs of a tile. Formats whose decoders know whole rows only have wide ones.
int TileInputs(const PackedMatrix& m) {
  const bool parts =
      m.format == Format::kNvfp4 || m.format == Format::kMxfp4 || m.format == Format::kBf16;
  return parts ? std::min(kTileInputs, m.columns) : m.columns;
}

using PanelView = Eigen::Map<Panel>;

using FloatView = Eigen::Map<Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

template <class Number>
Eigen::Map<Eigen::Matrix<Number, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> View(
    std::vector<Number>& memory, int rows, int columns) {
  memory.resize(std::max(memory.size(), std::size_t(rows) * columns));
  return {memory.data(), rows, columns};
}

constexpr Eigen::Index kFewVectors = 8;

// out += tile * operands. For a few vectors, one product each is several times faster than a matrix
// product, which would first repack the tile.
template <class Tile, class Operand, class Out>
void AddProduct(const Tile& tile, const Operand& operands, Out&& out) {
  if (operands.cols() > kFewVectors) {
    out.noalias() += tile * operands;
    return;
  }
  for (Eigen::Index v = 0; v < operands.cols(); ++v) out.col(v).noalias() += tile * operands.col(v);
}

// As AddProduct; adds to `prefixes` the magnitudes of the sums before each block of inputs.
template <class Operand, class Out>
void AddProductInOrder(const PanelView& tile, const Operand& operands, Out&& out, Out&& prefixes) {
  for (Eigen::Index at = 0; at < tile.cols(); at += kOrderedBlock) {
    const Eigen::Index inputs = std::min<Eigen::Index>(kOrderedBlock, tile.cols() - at);
    prefixes += out.cwiseAbs();
    AddProduct(tile.middleCols(at, inputs), operands.middleRows(at, inputs), out);
  }
}

// Sums of magnitudes in FP32: no term is negative, so that K products and sums, with operands
// rounded to FP32, err by (K + 3) u of the sum; and by half the smallest subnormal each below.
template <class Operand, class Out>
void AddMagnitudes(const FloatView& tile, const Operand& operands, Out&& out) {
  thread_local Eigen::MatrixXf sums;
  sums.setZero(tile.rows(), operands.cols());
  AddProduct(tile, operands, sums);
  const double inputs = static_cast<double>(tile.cols());
  const double slack = 1 + 1.01 * (inputs + 4) * 0x1p-24, floor = inputs * 0x1p-149;
  out.array() += sums.cast<double>().array() * slack + floor;
}

// Differences of weights, 2^-24 of them at most, times the operands, in FP32: the sum of K of them
// errs by K 2^-48 of the magnitudes.
template <class Operand, class Out>
void AddCorrections(const FloatView& tile, const Operand& operands, Out&& out) {
  thread_local Eigen::MatrixXf sums;
  sums.setZero(tile.rows(), operands.cols());
  AddProduct(tile, operands, sums);
  out += sums.cast<double>();
}

}  // namespace

Fp32Operands InFp32(const Operands& operands) {
  Fp32Operands fp32;
  fp32.absolute = operands.absolute.unaryExpr([](double m) { return FloatAbove(m); });
  if (operands.exact_is_production) fp32.production = operands.production.cast<float>();
  return fp32;
}

void Sums::Resize(int rows, const Operands& operands) {
  production.setZero(rows, operands.production.cols());
  absolute.setZero(rows, operands.absolute.cols());
  exact.setZero(rows, operands.exact.cols());
  if (operands.want_partials) partials.setZero(rows, operands.production.cols());
}

void DecodeRow(const PackedMatrix& matrix, CodePolicy policy, int row, double* production,
               double* exact) {
  switch (matrix.format) {
    case Format::kNvfp4:
      return DecodeNvfp4(matrix, row, production, exact);
    case Format::kMxfp4:
      return DecodeMxfp4(matrix, policy, row, production);
    case Format::kBf16:
      return DecodeBf16(matrix, row, production);
    case Format::kFp8Block:
    case Format::kFp8Channel:
    case Format::kMxfp8:
      return DecodeFp8Row(matrix, policy, row, production);
    case Format::kInt4G32:
    case Format::kInt4G128:
      return DecodeInt4Row(matrix, row, production);
  }
}

int PanelRows(int vectors) { return vectors > kFewVectors ? 128 : 32; }

void MultiplyPanel(const PackedMatrix& matrix, CodePolicy policy, const Operands& operands,
                   const Fp32Operands& fp32, int first, int count, Sums& sums) {
  // Kept by each thread: fresh ones would be mapped and cleared by the system at every call.
  thread_local std::vector<double> memory, exact_memory;
  thread_local std::vector<float> magnitude_memory, correction_memory;
  // For few vectors decoding is what costs, and a correction is dearer to decode than a weight.
  const bool corrects = operands.exact_is_production && ExactDiffers(matrix.format) &&
                        operands.production.cols() > kFewVectors;
  const bool same = operands.exact_is_production && (corrects || !ExactDiffers(matrix.format));
  const bool differs = ExactDiffers(matrix.format) && !corrects;
  const int depth = TileInputs(matrix);
  for (int from = 0; from < matrix.columns; from += depth) {
    const int inputs = std::min(depth, matrix.columns - from);
    PanelView production = View(memory, count, inputs);
    PanelView exact = differs ? View(exact_memory, count, inputs) : production;
    FloatView magnitude = View(magnitude_memory, count, inputs);
    FloatView correction = View(correction_memory, corrects ? count : 0, inputs);
    for (int i = 0; i < count; ++i)
      DecodeForms(matrix, policy, first + i, from, inputs,
                  {production.row(i).data(), exact.row(i).data(), magnitude.row(i).data(),
                   corrects ? correction.row(i).data() : nullptr});
    const auto part = operands.production.middleRows(from, inputs);
    if (operands.want_partials)
      AddProductInOrder(production, part, sums.production.middleRows(first, count),
                        sums.partials.middleRows(first, count));
    else
      AddProduct(production, part, sums.production.middleRows(first, count));
    if (corrects)
      AddCorrections(correction, fp32.production.middleRows(from, inputs),
                     sums.exact.middleRows(first, count));
    else if (!same)
      AddProduct(exact, operands.exact.middleRows(from, inputs),
                 sums.exact.middleRows(first, count));
    AddMagnitudes(magnitude, fp32.absolute.middleRows(from, inputs),
                  sums.absolute.middleRows(first, count));
  }
  if (same) sums.exact.middleRows(first, count) += sums.production.middleRows(first, count);
  // Inside a block no partial sum exceeds the one before it and the magnitudes in it.
  if (operands.want_partials) {
    const auto magnitudes = sums.absolute.middleRows(first, count).leftCols(sums.partials.cols());
    auto partials = sums.partials.middleRows(first, count);
    partials = kOrderedBlock * (partials + magnitudes);
  }
}

void MultiplyExactPanel(const PackedMatrix& matrix, CodePolicy policy,
                        const Eigen::MatrixXd& operands, int first, int count,
                        Eigen::MatrixXd& sums) {
  thread_local std::vector<double> memory;
  const int depth = TileInputs(matrix);
  for (int from = 0; from < matrix.columns; from += depth) {
    const int inputs = std::min(depth, matrix.columns - from);
    PanelView tile = View(memory, count, inputs);
    for (int i = 0; i < count; ++i)
      DecodeExactRange(matrix, policy, first + i, from, inputs, tile.row(i).data());
    AddProduct(tile, operands.middleRows(from, inputs), sums.middleRows(first, count));
  }
}

Sums Multiply(const PackedMatrix& matrix, CodePolicy policy, const Operands& operands) {
  Sums sums;
  sums.Resize(matrix.rows, operands);
  const int step = PanelRows(static_cast<int>(operands.production.cols()));
  const Fp32Operands fp32 = InFp32(operands);
  for (int first = 0; first < matrix.rows; first += step)
    MultiplyPanel(matrix, policy, operands, fp32, first, std::min(step, matrix.rows - first), sums);
  return sums;
}

}  // namespace assay
