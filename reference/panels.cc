#include "reference/panels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "reference/bf16.h"
#include "reference/decode_fp8.h"
#include "reference/e2m1.h"
#include "reference/e4m3.h"
#include "reference/e8m0.h"
#include "reference/error.h"
#include "reference/formats.h"
#include "reference/tokens.h"

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
    for (int i = 0; i < kGroup / 2; ++i, ++codes, out += 2) {
      out[0] = kE2m1Doubles[*codes].even * scale;
      out[1] = kE2m1Doubles[*codes].odd * scale;
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
    default:
      throw UnsupportedProblem("format=" + std::string(Token(m.format)) +
                               ": the reference does not decode it yet");
  }
}

using PanelView = Eigen::Map<Panel>;

PanelView View(std::vector<double>& memory, int rows, int columns) {
  memory.resize(std::max(memory.size(), std::size_t(rows) * columns));
  return {memory.data(), rows, columns};
}

constexpr Eigen::Index kFewVectors = 8;

// For a few vectors, one product each is several times faster than a matrix product, which would
// first repack the panel.
void MultiplyInto(const PanelView& panel, const Eigen::MatrixXd& operands, int first,
                  Eigen::MatrixXd& sums) {
  if (operands.cols() > kFewVectors) {
    sums.middleRows(first, panel.rows()).noalias() = panel * operands;
    return;
  }
  for (Eigen::Index i = 0; i < operands.cols(); ++i)
    sums.col(i).segment(first, panel.rows()).noalias() = panel * operands.col(i);
}

constexpr int kBlock = 32;
using Block = Eigen::Array<double, kBlock, 1>;

// A product, and a bound on the sum of its partial sums' magnitudes: inside a block no partial sum
// exceeds the one before the block and the magnitudes in it.
struct Chain {
  double value = 0, partials = 0;

  template <class Products>
  void AddBlock(const Products& products) {
    partials += double(products.size()) * (std::fabs(value) + products.abs().sum());
    value += products.sum();
  }

  void AddRow(const double* w, const double* x, int count) {
    int at = 0;
    for (; at + kBlock <= count; at += kBlock)
      AddBlock(Block(Block::Map(w + at) * Block::Map(x + at)));
    if (at == count) return;
    Eigen::ArrayXd rest = Eigen::ArrayXd::Map(w + at, count - at);
    rest *= Eigen::ArrayXd::Map(x + at, count - at);
    AddBlock(rest);
  }
};

void ChainInto(const PanelView& panel, const Eigen::MatrixXd& operands, int first, Sums& sums) {
  for (Eigen::Index row = 0; row < panel.rows(); ++row)
    for (Eigen::Index v = 0; v < operands.cols(); ++v) {
      Chain chain;
      chain.AddRow(panel.row(row).data(), operands.col(v).data(), static_cast<int>(panel.cols()));
      sums.production(first + row, v) = chain.value;
      sums.partials(first + row, v) = chain.partials;
    }
}

}  // namespace

void Sums::Resize(int rows, const Operands& operands) {
  production.resize(rows, operands.production.cols());
  absolute.resize(rows, operands.absolute.cols());
  exact.resize(rows, operands.exact.cols());
  if (operands.want_partials) partials.resize(rows, operands.production.cols());
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
    default:
      throw UnsupportedProblem("format=" + std::string(Token(matrix.format)) +
                               ": the reference does not decode it yet");
  }
}

int PanelRows(int columns) { return std::max(4, (1 << 14) / columns); }

void MultiplyPanel(const PackedMatrix& matrix, CodePolicy policy, const Operands& operands,
                   int first, int count, Sums& sums) {
  // Kept by each thread: fresh ones would be mapped and cleared by the system at every call.
  thread_local std::vector<double> memory, exact_memory;
  const bool differs = ExactDiffers(matrix.format);
  PanelView production = View(memory, count, matrix.columns);
  PanelView exact = differs ? View(exact_memory, count, matrix.columns) : production;
  for (int i = 0; i < count; ++i)
    DecodeRow(matrix, policy, first + i, production.row(i).data(), exact.row(i).data());
  if (operands.want_partials)
    ChainInto(production, operands.production, first, sums);
  else
    MultiplyInto(production, operands.production, first, sums.production);
  MultiplyInto(exact, operands.exact, first, sums.exact);
  production = production.cwiseAbs();
  MultiplyInto(production, operands.absolute, first, sums.absolute);
}

int ExactPanelRows(int vectors) { return vectors > kFewVectors ? 128 : 32; }

void MultiplyExactPanel(const PackedMatrix& matrix, CodePolicy policy,
                        const Eigen::MatrixXd& operands, int first, int count,
                        Eigen::MatrixXd& sums) {
  thread_local std::vector<double> memory;
  const bool few = operands.cols() <= kFewVectors;
  const int depth = few ? 256 : 512;
  for (int from = 0; from < matrix.columns; from += depth) {
    const int inputs = std::min(depth, matrix.columns - from);
    PanelView tile = View(memory, count, inputs);
    for (int i = 0; i < count; ++i)
      DecodeExactRange(matrix, policy, first + i, from, inputs, tile.row(i).data());
    const auto part = operands.middleRows(from, inputs);
    auto out = sums.middleRows(first, count);
    if (!few) {
      out.noalias() += tile * part;
      continue;
    }
    for (Eigen::Index v = 0; v < operands.cols(); ++v) out.col(v).noalias() += tile * part.col(v);
  }
}

Sums Multiply(const PackedMatrix& matrix, CodePolicy policy, const Operands& operands) {
  Sums sums;
  sums.Resize(matrix.rows, operands);
  const int step = PanelRows(matrix.columns);
  for (int first = 0; first < matrix.rows; first += step)
    MultiplyPanel(matrix, policy, operands, first, std::min(step, matrix.rows - first), sums);
  return sums;
}

}  // namespace assay
