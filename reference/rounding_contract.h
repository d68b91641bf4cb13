// A rounding contract as data: where a path rounds, how it sums, how it evaluates the exponential,
// how it blends, and what it quantises on the way. Every bound of the reference follows from it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "reference/contract.h"
#include "reference/expert_rule.h"

namespace assay {

// How one output's products are added up.
struct AccumulateModel {
  Accumulation order = Accumulation::kAnyOrder;  // of an FP32 chain, or of the blocks
  // Tensor core: `block` products and the addend are aligned to the largest exponent, truncated
  // at 2^-fraction_bits of it, added exactly, and the sum is truncated to output_bits fraction
  // bits. 0: FP32 arithmetic, rounded to nearest.
  int block = 0, fraction_bits = 0, output_bits = 23;
  int promote = 0;  // after so many inputs the sum joins an FP32 total; 0: never
  int split_k = 1;  // parts summed apart, joined in FP32
  // Roundings of each term that no product by scales avoids: scales applied to partial sums.
  int scale_roundings = 0;
};
// Facts of the hardware: MMA-Sim (arXiv 2511.10909), MATLAB-tensor-core; L=16, F=25 checked bit
// for bit on an H200 for mma.sync.m16n8k16.
inline constexpr AccumulateModel kHopperBf16{Accumulation::kChainOrLanes, 16, 25, 23};
inline constexpr AccumulateModel kHopperFp8{Accumulation::kAnyOrder, 32, 13, 13, 128, 1, 3};
inline constexpr AccumulateModel kBlackwellFp8{Accumulation::kAnyOrder, 32, 25, 23, 0, 1, 3};
inline constexpr AccumulateModel kBlackwellFp4{Accumulation::kAnyOrder, 64, 35, 23, 0, 1, 3};

// What a value is stored as between two stages.
enum class Store { kFp32, kBf16, kBf16Pair };  // pair: high and low part, two products

enum class ExpVariant {
  kLibrary,     // within two units in the last place, IEEE division
  kFast,        // __expf and __fdividef: 2 + floor(1.173 |x|) units, and two
  kTanhApprox,  // sigmoid by tanh.approx, 2^-11 relative
};
enum class SiluForm {
  kDivide,    // g / (1 + exp(-g)) * u
  kMultiply,  // g * (1 / (1 + exp(-g))) * u
};
enum class Blend {
  kOneRounding,   // FP32 sum of all terms and the shared one, one rounding
  kTwoRoundings,  // the routed sum is stored, the shared term added, stored again
};

// Quantising what a product reads, one scale for `group` values (0: the whole row).
enum class CodeScale {
  kFp32,       // absmax / largest code
  kE8m0Ceil,   // the smallest power of two that does not clip
  kE8m0Floor,  // 2^(floor(log2 absmax) - largest exponent): the rule of the MX standard, clips
  kE4m3,       // absmax / largest code / global, as E4M3
};
enum class CodeElement { kNone, kE4m3, kE2m1 };
struct ActivationCodes {
  CodeElement element = CodeElement::kNone;
  CodeScale scale = CodeScale::kFp32;
  int group = 0;
  double global = 1;  // of kE4m3
};

struct Contract {
  std::string_view name = "production";
  AccumulateModel accumulate;
  Store gate_up = Store::kBf16, act = Store::kFp32, down = Store::kBf16;
  SiluForm silu = SiluForm::kDivide;
  ExpVariant exp = ExpVariant::kLibrary;
  Blend blend = Blend::kOneRounding;
  ActivationCodes input, hidden;
  // The identity experts' term is added to the stored sum of the others and stored again.
  bool identity_apart = false;
  // What gate and up become; LayerReference takes it from the problem.
  ExpertRule expert = {};
};

// How many of gate and up, activation, down and blend are stored in BF16 beyond the output.
int RoundingPoints(const Contract& contract);

// A layer step's contract: a pass of its own for the shared expert may round elsewhere. How the
// terms are blended is the routed contract's.
struct PathContract {
  Contract routed, shared;

  // Implicit: one contract for all experts.
  PathContract(const Contract& both) : routed(both), shared(both) {}
  PathContract(const Contract& of_routed, const Contract& of_shared)
      : routed(of_routed), shared(of_shared) {}
  std::string Name() const;  // "production", "production, shared silu_mul"
};

// production silu_mul atomic_c4 batched_blend act_pair act_bf16 hopper_bf16 w8a8_token w8a8_block
// w8a8_ue8m0 w4a8 mxfp8 nvfp4_w4a4, by any order of sums unless the name says more.
std::span<const Contract> Contracts();
// Throws UsageError that lists the names.
const Contract& ContractNamed(std::string_view name);

}  // namespace assay
