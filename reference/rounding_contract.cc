#include "reference/rounding_contract.h"

#include <string>
#include <vector>

#include "reference/error.h"

namespace assay {
namespace {

Contract Production(std::string_view name) {
  Contract c;
  c.name = name;
  return c;
}

Contract ActBf16(std::string_view name, const AccumulateModel& accumulate) {
  Contract c = Production(name);
  c.gate_up = Store::kFp32;
  c.act = Store::kBf16;
  c.accumulate = accumulate;
  return c;
}

// Gate, up and act stay in FP32 between the products; their inputs are codes.
Contract Coded(std::string_view name, const ActivationCodes& codes, const AccumulateModel& sums) {
  Contract c = Production(name);
  c.gate_up = Store::kFp32;
  c.input = c.hidden = codes;
  c.accumulate = sums;
  return c;
}

std::vector<Contract> Make() {
  std::vector<Contract> all{Production("production")};
  Contract silu_mul = Production("silu_mul");
  silu_mul.silu = SiluForm::kMultiply;
  silu_mul.act = Store::kBf16;
  Contract atomic = Production("atomic_c4");
  atomic.down = Store::kFp32;
  Contract batched = Production("batched_blend");
  batched.blend = Blend::kTwoRoundings;
  Contract pair = Production("act_pair");
  pair.act = Store::kBf16Pair;
  all.insert(all.end(), {silu_mul, atomic, batched, pair, ActBf16("act_bf16", {}),
                         ActBf16("hopper_bf16", kHopperBf16)});
  using enum CodeScale;
  constexpr CodeElement kFp8 = CodeElement::kE4m3;
  all.push_back(Coded("w8a8_token", {kFp8, kFp32, 0}, kHopperFp8));
  all.push_back(Coded("w8a8_block", {kFp8, kFp32, 128}, kHopperFp8));
  AccumulateModel blackwell_chunks = kBlackwellFp8;
  blackwell_chunks.promote = 128;
  all.push_back(Coded("w8a8_ue8m0", {kFp8, kE8m0Ceil, 128}, blackwell_chunks));
  all.push_back(Coded("w4a8", {kFp8, kFp32, 0}, kHopperFp8));
  all.push_back(Coded("mxfp8", {kFp8, kE8m0Floor, 32}, kBlackwellFp8));
  all.push_back(Coded("nvfp4_w4a4", {CodeElement::kE2m1, kE4m3, 16}, kBlackwellFp4));
  return all;
}

const std::vector<Contract>& All() {
  static const std::vector<Contract> all = Make();
  return all;
}

}  // namespace

int RoundingPoints(const Contract& contract) {
  return (contract.gate_up == Store::kBf16) + (contract.act == Store::kBf16) +
         (contract.down == Store::kBf16) + (contract.blend == Blend::kTwoRoundings);
}

std::string PathContract::Name() const {
  std::string name(routed.name);
  if (shared.name != routed.name) name += ", shared " + std::string(shared.name);
  return name;
}

std::span<const Contract> Contracts() { return All(); }

const Contract& ContractNamed(std::string_view name) {
  std::string names;
  for (const Contract& contract : All()) {
    if (contract.name == name) return contract;
    names += (names.empty() ? "" : ", ") + std::string(contract.name);
  }
  throw UsageError("contract=" + std::string(name) + ": not a contract; one of " + names);
}

}  // namespace assay
