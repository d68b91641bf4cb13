// Test helper: random small cases of every contract, evaluated in three FP32 orders and on the
// tensor-core model, against the admissible sets of their own contract and the order-free one.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reference/contract_model.h"
#include "reference/quantise.h"
#include "reference/random.h"

namespace assay::bounds_study {

using contract_model::Summing;
using fp32_model::Floats;

// What was seen for one contract.
struct Tally {
  std::string contract;
  long cases = 0, evaluations = 0, elements = 0;
  long outside_own = 0, outside_free = 0;  // elements outside the admissible sets
  long accepted_two_steps = 0;             // of outputs moved two BF16 steps outside
  long unbounded = 0;                      // elements that may overflow: nothing to move
  std::vector<float> own, free;            // observed / bound before the last rounding, by element
};

inline Format DrawFormat(const RandomStream& s, const Contract& c) {
  constexpr Format kAny[] = {Format::kNvfp4, Format::kMxfp4, Format::kBf16};
  if (c.name == "nvfp4_w4a4") return Format::kNvfp4;
  if (c.name == "w4a8" || c.name == "mxfp8") return Format::kMxfp4;
  return c.name.starts_with("w8a8") ? Format::kBf16 : kAny[s.At(0) % 3];
}

inline Problem DrawProblem(std::uint64_t seed, const Contract& c) {
  const RandomStream s(seed, 4711);
  constexpr DataDraw kData[] = {DataDraw::kGauss,   DataDraw::kGauss, DataDraw::kHeavy,
                                DataDraw::kOutlier, DataDraw::kPow2,  DataDraw::kHalf};
  Problem p;
  p.seed = seed;
  p.format = DrawFormat(s, c);
  p.hidden = 32 * (1 + static_cast<int>(s.At(1) % 6));
  p.inter = 32 * (1 + static_cast<int>(s.At(2) % 3));
  p.experts = 3;
  p.top_k = 1 + static_cast<int>(s.At(3) % 2);
  p.data = kData[s.At(4) % 6];
  if (s.At(5) % 2 == 0) p.shared = p.format;
  p.shared_gate = s.At(6) % 2 == 0 ? SharedGate::kSigmoid : SharedGate::kNone;
  return p;
}

// The weights of a BF16 matrix in block FP8.
inline PackedMatrix InBlockFp8(const PackedMatrix& m) {
  std::vector<float> values;
  for (int row = 0; row < m.rows; ++row)
    for (int c = 0; c < m.columns; ++c) values.push_back(fp32_model::WeightAtPosition(m, row, c));
  Container coded = Quantise(SchemeNamed("fp8_block128_fp32"), m.rows, m.columns, values,
                             QuantiseRule::kProduction);
  return {Format::kFp8Block,      false, m.rows, m.columns, std::move(coded.payload),
          std::move(coded.scales)};
}

inline ExpertWeights InBlockFp8(const ExpertWeights& e) {
  return {InBlockFp8(e.gate), InBlockFp8(e.up), InBlockFp8(e.down)};
}

inline LayerData BuildCase(std::uint64_t seed, const Contract& c) {
  LayerData layer = BuildLayer(DrawProblem(seed, c));
  if (!c.name.starts_with("w8a8")) return layer;
  for (auto& [id, expert] : layer.experts) expert = InBlockFp8(expert);
  if (layer.shared) layer.shared = InBlockFp8(*layer.shared);
  return layer;
}

// One evaluation, and which of the references are its own and the order-free one.
struct Evaluation {
  Summing summing;
  const OutputExpected* own;
  const OutputExpected* free;  // nullptr: K u S1 does not hold for the hardware (Hopper's FP8)
};

inline double StepOutside(double end, int steps) {
  const auto bits = DoubleToBf16(end == 0 ? 0.0 : end);  // -0 counts as 0
  // Away from zero, one code is one step.
  return Bf16ToFloat(static_cast<std::uint16_t>(bits + steps));
}

// Two BF16 steps up from the high end and down from the low end.
inline double TwoStepsAbove(double high) {
  if (high >= 0) return StepOutside(high, 2);
  const std::uint16_t bits = DoubleToBf16(high) & 0x7FFF;
  return bits >= 2 ? -Bf16ToFloat(static_cast<std::uint16_t>(bits - 2))
                   : Bf16ToFloat(static_cast<std::uint16_t>(2 - bits));
}
inline double TwoStepsBelow(double low) { return -TwoStepsAbove(-low); }

inline void JudgeMoved(const OutputExpected& expected, Tally& tally) {
  for (const Interval& i : expected.stored) {
    if (!std::isfinite(i.low) || !std::isfinite(i.high)) {
      ++tally.unbounded;
      continue;
    }
    tally.accepted_two_steps += i.Holds(TwoStepsAbove(i.high));
    tally.accepted_two_steps += i.Holds(TwoStepsBelow(i.low));
  }
}

inline void Judge(const OutputExpected& expected, const Floats& sums, long& outside,
                  std::vector<float>& ratios) {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    outside += !expected.stored[i].Holds(fp32_model::ToBf16(sums[i]));
    if (expected.error[i] > 0 && std::isfinite(expected.error[i]))
      ratios.push_back(
          static_cast<float>(std::fabs(sums[i] - expected.center[i]) / expected.error[i]));
  }
}

inline void RunCase(std::uint64_t seed, const Contract& contract, Tally& tally) {
  const LayerData layer = BuildCase(seed, contract);
  const bool tensor = contract.accumulate.block != 0;
  Contract chain = contract, free = contract, blocks = contract;
  free.accumulate = {};
  free.accumulate.scale_roundings = contract.accumulate.scale_roundings;
  chain.accumulate = free.accumulate;
  chain.accumulate.order = Accumulation::kChainOrLanes;
  if (!tensor) blocks.accumulate = kHopperBf16;
  const LayerReference of_chain(layer, chain), of_free(layer, free), of_blocks(layer, blocks);
  const Selection selection = fp32_model::Choose(layer, of_free.Router());
  const OutputExpected in_chain = of_chain.Evaluate(selection);
  const OutputExpected in_free = of_free.Evaluate(selection);
  const OutputExpected in_blocks = of_blocks.Evaluate(selection);
  const bool fp8 = blocks.accumulate.fraction_bits == 13;
  const Evaluation evaluations[] = {
      {{"chain", fp32_model::Forward, {}}, &in_chain, &in_free},
      {{"lanes", fp32_model::LanesOfSixteen, {}}, &in_chain, &in_free},
      {{"backward", fp32_model::BackwardUnfused, {}}, &in_free, &in_free},
      {{"tensor_core", {}, blocks.accumulate}, &in_blocks, fp8 ? nullptr : &in_free}};
  ++tally.cases;
  for (const Evaluation& e : evaluations) {
    const Floats sums = contract_model::Run(contract, e.summing, layer, selection);
    Judge(*e.own, sums, tally.outside_own, tally.own);
    if (e.free) Judge(*e.free, sums, tally.outside_free, tally.free);
    ++tally.evaluations;
    tally.elements += static_cast<long>(sums.size());
  }
  JudgeMoved(in_chain, tally);
  JudgeMoved(in_free, tally);
  JudgeMoved(in_blocks, tally);
}

inline double Median(std::vector<float> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}
inline double Most(const std::vector<float>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

}  // namespace assay::bounds_study
