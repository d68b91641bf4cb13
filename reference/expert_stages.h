// The stages of one expert for some tokens: gate and up, activation, down, as intervals of the
// production rounding contract and as exact reals.
#pragma once

#include <vector>

#include "reference/expected.h"
#include "reference/layer_data.h"
#include "reference/panels.h"

namespace assay {

// What one expert (-1: the shared one) makes of one token.
struct TokenResult {
  std::vector<Interval> gate, up;  // [inter], stored BF16
  std::vector<Interval> down;      // [hidden], stored BF16
  std::vector<double> down_exact;  // [hidden], no rounding anywhere
};

// One expert and the tokens to evaluate with it.
struct ExpertBatch {
  const ExpertWeights* weights = nullptr;
  std::vector<int> rows;              // of the layer's input
  std::vector<TokenResult*> results;  // one a row, to be filled
};

// How codes are read and sums are bounded.
struct StageRules {
  CodePolicy codes = CodePolicy::kProduction;
  Accumulation accumulation = Accumulation::kAnyOrder;
};

// Evaluates all batches, over all OpenMP threads. `input` is [hidden, rows].
void EvaluateBatches(std::vector<ExpertBatch> batches, const Eigen::MatrixXd& input,
                     const StageRules& rules);

// The FP32 values that fl(fl(g / (1 + exp(-g))) * u) may take for stored g and u. Anything() if it
// may leave the finite range.
Interval ActivationInterval(const Interval& gate, const Interval& up);

}  // namespace assay
