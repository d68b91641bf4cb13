// The stages of one expert for some tokens: gate and up, activation, down, as intervals of a
// rounding contract and as exact reals.
#pragma once

#include <vector>

#include "reference/expected.h"
#include "reference/layer_data.h"
#include "reference/panels.h"
#include "reference/rounding_contract.h"

namespace assay {

// What one expert (-1: the shared one) makes of one token.
struct TokenResult {
  std::vector<Interval> gate, up;  // [inter], as stored
  std::vector<Interval> act;       // [inter], what the down product reads
  std::vector<Interval> down;      // [hidden], as stored
  std::vector<double> down_exact;  // [hidden], no rounding anywhere
};

// One expert and the tokens to evaluate with it.
struct ExpertBatch {
  const ExpertWeights* weights = nullptr;
  std::vector<int> rows;              // of the layer's input
  std::vector<TokenResult*> results;  // one a row, to be filled
};

// How codes are read and what the path rounds.
struct StageRules {
  CodePolicy codes = CodePolicy::kProduction;
  Contract contract = {};
};

// Evaluates all batches, over all OpenMP threads. `input` is [hidden, rows].
void EvaluateBatches(std::vector<ExpertBatch> batches, const Eigen::MatrixXd& input,
                     const StageRules& rules);

}  // namespace assay
