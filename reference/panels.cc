#include "reference/panels.h"

#include <algorithm>

#include "reference/bf16.h"
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
    for (int i = 0; i < 8; ++i, ++codes, production += 2, exact += 2) {
      const E2m1Pair pair = kE2m1Pairs[*codes];
      production[0] = pair.even * formed;
      production[1] = pair.odd * formed;
      exact[0] = pair.even * real;
      exact[1] = pair.odd * real;
    }
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

}  // namespace

void Sums::Resize(int rows, const Operands& operands) {
  production.resize(rows, operands.production.cols());
  absolute.resize(rows, operands.absolute.cols());
  exact.resize(rows, operands.exact.cols());
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
    default:
      throw UnsupportedProblem("format=" + std::string(Token(matrix.format)) +
                               ": the reference does not decode it yet");
  }
}

int PanelRows(int columns) { return std::max(4, (1 << 14) / columns); }

void MultiplyPanel(const PackedMatrix& matrix, CodePolicy policy, const Operands& operands,
                   int first, int count, Sums& sums) {
  const bool differs = ExactDiffers(matrix.format);
  Panel production(count, matrix.columns), exact(differs ? count : 0, matrix.columns);
  for (int i = 0; i < count; ++i)
    DecodeRow(matrix, policy, first + i, production.row(i).data(),
              differs ? exact.row(i).data() : nullptr);
  sums.production.middleRows(first, count).noalias() = production * operands.production;
  if (operands.exact.cols() > 0)
    sums.exact.middleRows(first, count).noalias() = (differs ? exact : production) * operands.exact;
  production = production.cwiseAbs();
  sums.absolute.middleRows(first, count).noalias() = production * operands.absolute;
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
