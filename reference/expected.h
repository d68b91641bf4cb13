// What a layer step SHOULD compute, with bounds: the double leg, and the replicating reference in
// its interval form for the production rounding contract.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "reference/contract.h"
#include "reference/layer_data.h"

namespace assay {

struct PathContract;  // rounding_contract.h

// A BF16 interval per element, as doubles on the BF16 grid; an observed value is admissible iff
// low <= value <= high. NaN bounds mean: only NaN is admissible there; `nan`: NaN is admissible too
// (partial sums may overflow).
struct Interval {
  double low = 0, high = 0;
  bool nan = false;
  bool Holds(double value) const;
};

// The router's stored logits: exact value l, admissible interval after the store. Outputs are the
// experts, then the identity experts.
struct RouterExpected {
  std::vector<double> logits;    // [rows, outputs], exact, before the store
  std::vector<Interval> stored;  // [rows, outputs], BF16 grid; FP32 values where fp32_gate is on
  // Per row: what some admissible selection contains; expert 0 too where an identity expert may be
  // chosen, since its slot then names expert 0 with weight 0.
  std::vector<std::vector<int>> may;
};

// What the path chose: its own ids and weights, as it wrote them; kNoExpert adds nothing. An
// identity expert is an id from `experts` on, or a slot (expert 0, weight 0) whose weight went to
// the row's identity weight.
struct Selection {
  std::vector<std::uint32_t> ids;            // [rows, top_k]
  std::vector<float> weights;                // [rows, top_k]
  std::vector<float> identity_weights = {};  // [rows], times the input; empty: none
};

// Intermediates, where a path shows them. Slots are row * top_k + slot.
struct StageExpected {
  std::vector<Interval> gate, up;                // [rows * top_k, inter]
  std::vector<Interval> act;                     // [rows * top_k, inter], what down reads
  std::vector<Interval> down;                    // [rows * top_k, hidden]
  std::vector<Interval> shared_gate, shared_up;  // [rows, shared inter]
  std::vector<Interval> shared_down;             // [rows, hidden]
};

struct OutputExpected {
  std::vector<double> exact;     // [rows, hidden], real arithmetic on exact weights, no rounding
  std::vector<double> center;    // [rows, hidden], the contract's rounding points applied: y*
  std::vector<double> error;     // [rows, hidden], E_y around the centre, before the last rounding
  std::vector<Interval> stored;  // [rows, hidden], admissible BF16 outputs
  StageExpected stages;
};

class LayerReference {
 public:
  // `layer` must outlive the reference. Bounds are those of `accumulation`; the second is some
  // thirty times tighter for thousands of inputs.
  explicit LayerReference(const LayerData& layer,
                          Accumulation accumulation = Accumulation::kAnyOrder);
  // Another rounding contract than production's.
  LayerReference(const LayerData& layer, const PathContract& contract);
  ~LayerReference();

  const RouterExpected& Router() const;
  // y given the path's own selection. Every id must be an expert that the layer has built.
  OutputExpected Evaluate(const Selection& selection) const;
  // Its `exact` alone, [rows, hidden], without bounds or stages: several times faster.
  std::vector<double> Exact(const Selection& selection) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
