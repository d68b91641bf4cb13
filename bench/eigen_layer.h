// The yardstick of the reference's speed: the same products as plain Eigen products of matrices
// that already hold doubles.
#pragma once

#include <Eigen/Dense>
#include <map>
#include <vector>

#include "reference/expected.h"

namespace assay {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct DenseExpert {
  RowMajor gate, up, down;
};

class EigenLayer {
 public:
  // Decodes all experts that the layer has built, 8 bytes a weight; `layer` must outlive this.
  explicit EigenLayer(const LayerData& layer);

  // sum of weight * down(silu(gate x) * up x), [hidden, rows]; no shared expert. Tokens of one
  // expert are one product.
  Eigen::MatrixXd Evaluate(const Selection& selection) const;

 private:
  const LayerData& layer_;
  Eigen::MatrixXd input_;
  std::map<int, DenseExpert> experts_;
};

// A selection for `rows` tokens. identical: all take experts 0 .. top_k - 1; otherwise token t
// takes the next top_k in turn.
Selection SpreadSelection(const Problem& problem, bool identical);

}  // namespace assay
