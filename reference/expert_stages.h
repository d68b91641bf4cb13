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
  std::vector<Interval> gate, up;  // [inter], as stored; no gate where the expert is not gated
  std::vector<Interval> act;       // [inter], what the down product reads
  std::vector<Interval> down;      // [hidden], as stored
  std::vector<double> down_exact;  // [hidden], no rounding anywhere
};

// One expert and the tokens to evaluate with it.
struct ExpertBatch {
  const ExpertWeights* weights = nullptr;
  std::vector<int> columns;                           // of the input
  std::vector<TokenResult*> results;                  // one a column, to be filled
  const Contract* contract = nullptr;                 // null: that of the rules
  std::vector<const LoraAdapterData*> adapters = {};  // one a column, or none at all
};

// What experts read, [hidden, columns]: as stored, and before any rounding. `radius`: how far the
// stored may lie from `stored`, or empty where that is exact.
struct ExpertInput {
  Eigen::MatrixXd stored, exact, radius = {};
};

// How codes are read and what the path rounds.
struct StageRules {
  CodePolicy codes = CodePolicy::kProduction;
  Contract contract = {};
};

// Evaluates all batches, over all OpenMP threads.
void EvaluateBatches(std::vector<ExpertBatch> batches, const ExpertInput& input,
                     const StageRules& rules);

}  // namespace assay
