// Test helper: random cases of every contract, evaluated in three FP32 orders and on the
// tensor-core model, against the admissible sets of their own contract and the order-free one.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "reference/contract_model.h"
#include "reference/random.h"

namespace assay::bounds_study {

using contract_model::Summing;
using fp32_model::Floats;

// How many outputs (BF16 bits) the expectation rejects: the program uses the oracle's judge.
using Judge = std::function<long(std::span<const std::uint16_t>, const OutputExpected&)>;

inline long RejectedByHolds(std::span<const std::uint16_t> output, const OutputExpected& expected) {
  long rejected = 0;
  for (std::size_t i = 0; i < output.size(); ++i)
    rejected += !expected.stored[i].Holds(Bf16ToFloat(output[i]));
  return rejected;
}

// What was seen for one contract.
struct Tally {
  std::string contract;
  long cases = 0, large_cases = 0, evaluations = 0, elements = 0;
  long outside_own = 0, outside_free = 0;  // elements outside the admissible sets
  long moved = 0, accepted_two_steps = 0;  // outputs two BF16 steps outside, and those accepted
  long unbounded = 0;                      // elements that may overflow: nothing to move
  std::vector<float> own, free;            // observed / bound before the last rounding, by element
};

inline Contract Variant(std::string_view base, std::string_view name) {
  Contract c = ContractNamed(base);
  c.name = name;
  return c;
}

// Every contract; hopper_bf16 differs from act_bf16, which runs on the tensor-core model too, only
// by its name, so it stands here with its sum split. Then what no named contract declares.
inline std::vector<Contract> StudiedContracts() {
  std::vector<Contract> all;
  for (const Contract& c : Contracts())
    if (c.name != "hopper_bf16") all.push_back(c);
  all.push_back(Variant("hopper_bf16", "hopper_bf16_split3"));
  all.back().accumulate.split_k = 3;
  all.push_back(Variant("silu_mul", "silu_mul_split2"));
  all.back().accumulate.split_k = 2;
  all.push_back(Variant("production", "fast_exp"));
  all.back().exp = ExpVariant::kFast;
  all.push_back(Variant("silu_mul", "tanh_approx"));
  all.back().exp = ExpVariant::kTanhApprox;
  return all;
}

inline Format DrawFormat(const RandomStream& s, const Contract& c) {
  constexpr Format kAny[] = {Format::kNvfp4, Format::kMxfp4, Format::kBf16};
  constexpr Format kW4[] = {Format::kMxfp4, Format::kNvfp4, Format::kInt4G32};
  if (c.name == "nvfp4_w4a4") return Format::kNvfp4;
  if (c.name == "w4a8") return kW4[s.At(0) % 3];
  if (c.name == "mxfp8") return s.At(0) % 2 == 0 ? Format::kMxfp4 : Format::kMxfp8;
  return c.name.starts_with("w8a8") ? Format::kFp8Block : kAny[s.At(0) % 3];
}

// One case in 500 has the inner dimensions of a small model.
inline bool IsLarge(std::uint64_t seed) { return seed % 500 == 499; }

inline Problem DrawProblem(std::uint64_t seed, const Contract& c) {
  const RandomStream s(seed, 4711);
  constexpr DataDraw kData[] = {DataDraw::kGauss,   DataDraw::kGauss, DataDraw::kHeavy,
                                DataDraw::kOutlier, DataDraw::kPow2,  DataDraw::kHalf};
  Problem p;
  p.seed = seed;
  p.format = DrawFormat(s, c);
  p.hidden = 32 * (1 + static_cast<int>(s.At(1) % 6));
  p.inter = 32 * (1 + static_cast<int>(s.At(2) % 3));
  if (IsLarge(seed)) {
    p.hidden = 256 * (3 + static_cast<int>(s.At(1) % 6));
    p.inter = 128 * (3 + static_cast<int>(s.At(2) % 4));
  }
  p.experts = 3;
  p.top_k = 1 + static_cast<int>(s.At(3) % 2);
  p.data = kData[s.At(4) % 6];
  if (s.At(5) % 2 == 0) p.shared = p.format;
  p.shared_gate = s.At(6) % 2 == 0 ? SharedGate::kSigmoid : SharedGate::kNone;
  return p;
}

inline LayerData BuildCase(std::uint64_t seed, const Contract& c) {
  return BuildLayer(DrawProblem(seed, c));
}

// One evaluation, and which of the references are its own and the order-free one.
struct Evaluation {
  Summing summing;
  const OutputExpected* own;
  const OutputExpected* free;
};

inline std::uint16_t Stepped(std::uint16_t bits, int steps) {
  // In the order of the numbers: negative codes count down.
  const int place = bits & 0x8000 ? -(bits & 0x7FFF) : bits;
  const int moved = place + steps;
  return static_cast<std::uint16_t>(moved < 0 ? 0x8000 | -moved : moved);
}

// Outputs two BF16 steps beyond the ends of [center - error, center + error] as stored, taken from
// these two numbers and not from the intervals that judge: an interval that is two steps too wide
// accepts them.
inline void JudgeMoved(const OutputExpected& expected, const Judge& judge, Tally& tally) {
  std::vector<std::uint16_t> above, below;
  long bounded = 0;
  for (std::size_t i = 0; i < expected.stored.size(); ++i) {
    const double low = expected.center[i] - expected.error[i];
    const double high = expected.center[i] + expected.error[i];
    const bool finite = std::isfinite(expected.stored[i].low) && std::fabs(low) < 0x1p126 &&
                        std::fabs(high) < 0x1p126;
    bounded += finite;
    above.push_back(finite ? Stepped(DoubleToBf16(high), 2) : DoubleToBf16(0));
    below.push_back(finite ? Stepped(DoubleToBf16(low), -2) : DoubleToBf16(0));
  }
  tally.unbounded += static_cast<long>(above.size()) - bounded;
  tally.moved += 2 * bounded;
  tally.accepted_two_steps += 2 * bounded - judge(above, expected) - judge(below, expected);
}

inline std::vector<std::uint16_t> AsOutput(const Floats& sums) {
  std::vector<std::uint16_t> output;
  for (const float sum : sums) output.push_back(FloatToBf16(sum));
  return output;
}

inline void KeepRatios(const OutputExpected& expected, const Floats& sums,
                       std::vector<float>& ratios) {
  for (std::size_t i = 0; i < sums.size(); ++i)
    if (expected.error[i] > 0 && std::isfinite(expected.error[i]))
      ratios.push_back(
          static_cast<float>(std::fabs(sums[i] - expected.center[i]) / expected.error[i]));
}

// The accumulate models of a case: as the kernels of gpu/ sum, in any order, on a tensor core.
struct Models {
  Contract chain, free, blocks;
  explicit Models(const Contract& contract) : chain(contract), free(contract), blocks(contract) {
    free.accumulate = {};
    free.accumulate.scale_roundings = contract.accumulate.scale_roundings;
    free.accumulate.split_k = contract.accumulate.split_k;
    chain.accumulate = free.accumulate;
    chain.accumulate.order = Accumulation::kChainOrLanes;
    if (contract.accumulate.block != 0) return;
    blocks.accumulate = kHopperBf16;
    blocks.accumulate.split_k = contract.accumulate.split_k;
  }
};

// K u S1 does not hold for Hopper's FP8, whose sums keep 13 bits: there the order-free set is the
// tensor core's own, which assumes no order of the products in a chunk; they also come backward.
inline void RunCase(std::uint64_t seed, const Contract& contract, const Judge& judge,
                    Tally& tally) {
  const LayerData layer = BuildCase(seed, contract);
  const Models models(contract);
  const LayerReference of_chain(layer, models.chain), of_free(layer, models.free),
      of_blocks(layer, models.blocks);
  const Selection selection = fp32_model::Choose(layer, of_free.Router());
  const OutputExpected in_chain = of_chain.Evaluate(selection);
  const OutputExpected in_free = of_free.Evaluate(selection);
  const OutputExpected in_blocks = of_blocks.Evaluate(selection);
  const AccumulateModel& tensor = models.blocks.accumulate;
  const bool fp8 = tensor.fraction_bits == 13;
  const int split = contract.accumulate.split_k;
  std::vector<Evaluation> evaluations{
      {{"chain", contract_model::Split(fp32_model::Forward, split)}, &in_chain, &in_free},
      {{"lanes", contract_model::Split(fp32_model::LanesOfSixteen, split)}, &in_chain, &in_free},
      {{"backward", contract_model::Split(fp32_model::BackwardUnfused, split)}, &in_free, &in_free},
      {{"tensor_core", {}, tensor}, &in_blocks, fp8 ? &in_blocks : &in_free}};
  if (fp8)
    evaluations.push_back({{"tensor_core_backward", {}, tensor, true}, &in_blocks, &in_blocks});
  ++tally.cases;
  tally.large_cases += IsLarge(seed);
  for (const Evaluation& e : evaluations) {
    const Floats sums = contract_model::Run(contract, e.summing, layer, selection);
    const std::vector<std::uint16_t> output = AsOutput(sums);
    tally.outside_own += judge(output, *e.own);
    tally.outside_free += judge(output, *e.free);
    KeepRatios(*e.own, sums, tally.own);
    KeepRatios(*e.free, sums, tally.free);
    ++tally.evaluations;
    tally.elements += static_cast<long>(sums.size());
  }
  for (const OutputExpected* expected : {&in_chain, &in_free, &in_blocks})
    JudgeMoved(*expected, judge, tally);
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
