#include "bench/eigen_layer.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

// Both legs of the comparison compute the same numbers: sums of at most 96 products in double
// differ by their order only, far below 1e-12 of the largest output.
void ExpectSameOutput(const Problem& problem, bool identical) {
  const LayerData layer = BuildLayer(problem);
  Selection selection = SpreadSelection(problem, identical);
  for (std::uint32_t& id : selection.ids) id %= layer.experts.size();
  const Eigen::MatrixXd plain = EigenLayer(layer).Evaluate(selection);
  const LayerReference reference(layer);
  const std::vector<double> exact = reference.Exact(selection);
  const std::vector<double> evaluated = reference.Evaluate(selection).exact;
  ASSERT_EQ(exact.size(), std::size_t(plain.size()));
  const double largest = plain.cwiseAbs().maxCoeff();
  ASSERT_GT(largest, 0);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    EXPECT_NEAR(exact[i], plain.data()[i], 1e-12 * largest) << i;
    EXPECT_NEAR(exact[i], evaluated[i], 1e-12 * largest) << i;
  }
}

TEST(EigenLayer, AgreesWithTheReferenceForEveryFormatAndManyRows) {
  for (const Format format : {Format::kNvfp4, Format::kMxfp4, Format::kBf16})
    for (const int rows : {1, 3, 20}) {
      Problem problem;
      problem.format = format;
      problem.rows = rows;
      problem.hidden = 96;
      problem.inter = 64;
      problem.experts = 4;
      problem.top_k = 4;
      ExpectSameOutput(problem, true);
      ExpectSameOutput(problem, false);
    }
}

TEST(EigenLayer, AgreesWhereTilesEndInsideARow) {
  Problem problem;
  problem.rows = 10;
  problem.hidden = 1120;
  problem.inter = 544;
  problem.experts = 2;
  problem.top_k = 2;
  ExpectSameOutput(problem, true);
}

}  // namespace
}  // namespace assay
