#include "reference/panels.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay {
namespace {

struct Naive {
  double production = 0, exact = 0, absolute = 0, partials = 0;
};

// One sum, product after product in the order of the inputs.
Naive Sum(const PackedMatrix& m, int row, const Operands& x, Eigen::Index column) {
  std::vector<double> production(m.columns), exact(m.columns);
  DecodeRow(m, CodePolicy::kProduction, row, production.data(), exact.data());
  if (!ExactDiffers(m.format)) exact = production;
  Naive sum;
  for (int i = 0; i < m.columns; ++i) {
    sum.production += production[i] * x.production(i, column);
    sum.exact += exact[i] * x.exact(i, column);
    sum.absolute += std::fabs(production[i]) * x.absolute(i, column);
    sum.partials += std::fabs(sum.production);
  }
  return sum;
}

Operands OperandsFor(int inputs, int vectors, bool want_partials) {
  Operands x;
  x.production = Eigen::MatrixXd::NullaryExpr(inputs, vectors, [](Eigen::Index i, Eigen::Index v) {
    return std::sin(double(i * 7 + v * 13));  // any numbers of both signs
  });
  x.exact = x.production * 1.25;
  x.absolute = x.production.cwiseAbs();
  x.want_partials = want_partials;
  return x;
}

void ExpectBounds(Format format, int rows, int inputs, int vectors, bool want_partials) {
  Problem problem;
  problem.format = format;
  problem.hidden = inputs;
  problem.inter = rows;
  const PackedMatrix m = BuildMatrix(problem, Projection::kGate, 0);
  const Operands x = OperandsFor(inputs, vectors, want_partials);
  const Sums sums = Multiply(m, CodePolicy::kProduction, x);
  Eigen::MatrixXd exact = Eigen::MatrixXd::Zero(rows, vectors);
  MultiplyExactPanel(m, CodePolicy::kProduction, x.exact, 0, rows, exact);
  for (int row = 0; row < rows; ++row)
    for (int v = 0; v < vectors; ++v) {
      const Naive naive = Sum(m, row, x, v);
      // Two orders of a double sum differ by K 2^-52 of the magnitudes at most.
      const double slack = inputs * 0x1p-52 * naive.absolute * 1.25;
      EXPECT_NEAR(sums.production(row, v), naive.production, slack);
      EXPECT_NEAR(sums.exact(row, v), naive.exact, slack);
      EXPECT_NEAR(exact(row, v), naive.exact, slack);
      EXPECT_GE(sums.absolute(row, v), naive.absolute - slack);
      // FP32 sums of at most 256 inputs, or of a whole row: 2 (K + 4) 2^-24 above at most.
      EXPECT_LE(sums.absolute(row, v), naive.absolute * (1 + 2 * (inputs + 4) * 0x1p-24) + slack);
      if (want_partials) {
        EXPECT_GE(sums.partials(row, v), naive.partials * (1 - 1e-12));
      }
    }
}

TEST(Panels, SumsAreRightAndBoundsAreAboveForEveryFormatAndShape) {
  for (const Format format : {Format::kNvfp4, Format::kMxfp4, Format::kBf16, Format::kFp8Block})
    for (const int vectors : {1, 8, 9})
      for (const bool want_partials : {false, true}) {
        ExpectBounds(format, 40, 96, vectors, want_partials);
        ExpectBounds(format, 130, 544, vectors, want_partials);  // ends inside a tile
      }
}

TEST(Panels, RaggedBf16RowsAreWhole) { ExpectBounds(Format::kBf16, 5, 301, 3, true); }

TEST(Panels, AnUnboundedOperandGivesAnUnboundedMagnitude) {
  Problem problem;
  problem.format = Format::kBf16;
  problem.hidden = 64;
  problem.inter = 4;
  const PackedMatrix m = BuildMatrix(problem, Projection::kGate, 0);
  Operands x = OperandsFor(64, 1, false);
  for (const double huge : {1e300, double(std::numeric_limits<double>::infinity())}) {
    x.absolute(3, 0) = huge;  // beyond FP32
    const Sums sums = Multiply(m, CodePolicy::kProduction, x);
    for (int row = 0; row < 4; ++row) EXPECT_FALSE(sums.absolute(row, 0) < 3e38) << row;
  }
}

// The products of exact weights by a correction: K 2^-48 of the magnitudes and two double sums.
TEST(Panels, ACorrectionGivesTheExactProducts) {
  for (const Format format : {Format::kNvfp4, Format::kMxfp4, Format::kFp8Block})
    for (const int vectors : {2, 9}) {
      Problem problem;
      problem.format = format;
      problem.hidden = 544;
      problem.inter = 130;
      const PackedMatrix m = BuildMatrix(problem, Projection::kGate, 0);
      Operands x = OperandsFor(544, vectors, false);
      x.production = x.exact = x.production.cast<float>().cast<double>();
      x.exact_is_production = true;
      const Sums sums = Multiply(m, CodePolicy::kProduction, x);
      for (int row = 0; row < m.rows; ++row)
        for (int v = 0; v < vectors; ++v) {
          const Naive naive = Sum(m, row, x, v);
          EXPECT_NEAR(sums.exact(row, v), naive.exact, 544 * (0x1p-48 + 0x1p-51) * naive.absolute);
        }
    }
}

// Below FP32 on one side, large on the other: the product is what it is.
TEST(Panels, ATinyOperandDoesNotVanishBesideALargeWeight) {
  Problem problem;
  problem.format = Format::kBf16;
  problem.hidden = problem.inter = 1;
  PackedMatrix m = BuildMatrix(problem, Projection::kGate, 0);
  const auto put = [&](std::uint16_t bits) {
    m.payload = {static_cast<std::uint8_t>(bits & 255), static_cast<std::uint8_t>(bits >> 8)};
  };
  Operands x = OperandsFor(1, 1, false);
  put(0x7000);  // 2^97
  x.absolute(0, 0) = 0x1p-160;
  EXPECT_GE(Multiply(m, CodePolicy::kProduction, x).absolute(0, 0), 0x1p-63);
  put(0x0001);  // 2^-133
  x.absolute(0, 0) = 0x1.8p120;
  EXPECT_GE(Multiply(m, CodePolicy::kProduction, x).absolute(0, 0), 0x1.8p-13);
}

}  // namespace
}  // namespace assay
