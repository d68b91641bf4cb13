// What an expert network computes, as data, and its evaluation in double: activations, clamps,
// biases, storage orders, LoRA folds, and the sums over ranks of expert parallelism.
#pragma once

#include <Eigen/Dense>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reference/problem.h"

namespace assay {

enum class ActivationKind {
  kSilu,         // z sigmoid(z)
  kSwishAlpha,   // z sigmoid(alpha z)
  kGeluTanh,     // z/2 (1 + tanh(sqrt(2/pi) (z + 0.044715 z^3)))
  kGeluErf,      // z/2 (1 + erf(z / sqrt 2))
  kReluSquared,  // max(z, 0)^2
};
enum class ClampAt { kNowhere, kBeforeActivation, kAfterActivation };

struct ExpertRule {
  ActivationKind activation = ActivationKind::kSilu;
  double alpha = 1;
  bool gated = true;  // act(gate) * (up + up_offset), else act(up)
  double up_offset = 0;
  // Before: gate = min(gate, gate_max). After: act(gate) = min(act(gate), gate_max). In both,
  // up = clip(up, -up_abs_max, up_abs_max). The gate has no lower limit unless gate_min is given.
  ClampAt clamp = ClampAt::kNowhere;
  double gate_max = std::numeric_limits<double>::infinity();
  double gate_min = -std::numeric_limits<double>::infinity();
  double up_abs_max = std::numeric_limits<double>::infinity();
};

// swish 1.702, gate at most 7, up within 7, up + 1.
ExpertRule GptOssRule();

// The experts of a path's layer; limit clamps the gate from above and up on both sides, before the
// activation. relu2 has no gate.
ExpertRule ExpertRuleFor(const Problem& problem);
constexpr bool IsGated(const Problem& problem) { return problem.activation != Activation::kRelu2; }

double Activated(const ExpertRule& rule, double z);
// The hidden value of one gate and up; not gated: `gate` is not read.
double HiddenValue(const ExpertRule& rule, double gate, double up);

using WeightMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// y = down act(gate x + gate_bias, up x + up_bias) + down_bias. Empty: absent.
struct ExpertNetwork {
  WeightMatrix gate, up, down;
  Eigen::VectorXd gate_bias, up_bias, down_bias;
};
Eigen::VectorXd EvaluateExpert(const ExpertRule& rule, const ExpertNetwork& network,
                               const Eigen::VectorXd& x);

// Gate and up in one matrix (or bias).
enum class FusedOrder {
  kConcatenated,  // first half gate, second half up
  kInterleaved,   // even rows gate, odd rows up
};
// `fused` has an even number of rows. Works on matrices and on biases.
template <class Matrix>
void SplitFused(FusedOrder order, const Matrix& fused, Matrix& gate, Matrix& up) {
  const Eigen::Index half = fused.rows() / 2;
  const bool interleaved = order == FusedOrder::kInterleaved;
  gate.resize(half, fused.cols());
  up.resize(half, fused.cols());
  for (Eigen::Index i = 0; i < half; ++i) {
    gate.row(i) = fused.row(interleaved ? 2 * i : i);
    up.row(i) = fused.row(interleaved ? 2 * i + 1 : half + i);
  }
}

// One of several shared experts: its own rule and width; times sigmoid(gate . x) if gated.
struct SharedExpert {
  ExpertRule rule;
  ExpertNetwork network;
  Eigen::VectorXd gate;  // empty: factor 1
};
Eigen::VectorXd EvaluateShared(std::span<const SharedExpert> shared, const Eigen::VectorXd& x);

// Experts in a space of another width: in x before them, out y after their weighted sum.
struct Latent {
  WeightMatrix in, out;
};

// A low-rank addition to a stored product. The three BF16 roundings: base + scale *
// bf16(bf16(A x) B^T), each inner product exact before its rounding.
struct LoraAdapter {
  WeightMatrix a;  // [rank, inputs]
  WeightMatrix b;  // [outputs, rank]
  double scale = 1;
};
// `base` holds stored BF16 values. nullptr, an adapter below zero: the row passes unchanged.
Eigen::VectorXd FoldLora(const Eigen::VectorXd& base, const LoraAdapter* adapter,
                         const Eigen::VectorXd& x);
// The same without roundings.
Eigen::VectorXd FoldLoraExact(const Eigen::VectorXd& base, const LoraAdapter& adapter,
                              const Eigen::VectorXd& x);

}  // namespace assay
