// The tensors of one layer step, bytes exactly as on the device, built from the problem's seed.
// Experts that no admissible routing can choose are never built.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "reference/lora.h"
#include "reference/placement.h"
#include "reference/problem.h"

namespace assay {

enum class Projection { kGate, kUp, kDown };

// One quantised matrix [rows = outputs, columns = inputs] of one expert.
// NVFP4: payload u8, two E2M1 codes a byte, low nibble = even column; scales E4M3 a group of 16;
// times global_scale. MXFP4: the same payload, scales E8M0 a group of 32, global_scale = 1.
// Row-major: payload [rows, columns/2], scales [rows, columns/group].
// Transposed: payload [columns/2, rows], scales [columns/group, rows].
// BF16: payload u16 little endian [rows, columns], no scales.
// FP8 (row-major): decode_fp8.h. INT4 (GPTQ order, one packing): decode_int4.h.
struct PackedMatrix {
  Format format = Format::kNvfp4;
  bool transposed = false;
  int rows = 0, columns = 0;
  std::vector<std::uint8_t> payload, scales;
  float global_scale = 1.0f;
  std::vector<std::uint8_t> zeros = {};  // of INT4
};

// The same weights in the other packing; the bytes that belong to each weight are kept.
PackedMatrix Transpose(const PackedMatrix& matrix);

struct ExpertWeights {
  PackedMatrix gate, up;  // [inter, hidden]; an expert that is not gated has no gate
  PackedMatrix down;      // [hidden, inter]
  // BF16 bits, added to the FP32 sums before they are stored; empty without biases.
  std::vector<std::uint16_t> gate_bias = {}, up_bias = {};  // [inter]
  std::vector<std::uint16_t> down_bias = {};                // [hidden]
};

struct LayerData {
  Problem problem;
  std::vector<std::uint16_t> input;  // BF16 bits [rows, hidden]
  // Outputs of the router: the experts, then the identity (zero) experts.
  std::vector<std::uint16_t> router_weight;     // BF16 bits [outputs, hidden], or
  std::optional<PackedMatrix> packed_router;    // the same in gate_format, row-major
  std::vector<float> router_bias;               // [outputs], empty without a correction bias
  std::vector<std::uint16_t> logit_bias;        // BF16 bits [outputs], empty without router_bias
  std::vector<std::uint16_t> pre_norm_scale;    // BF16 bits [hidden], empty without pre_norm
  std::vector<std::uint16_t> pre_expert_scale;  // BF16 bits [hidden], empty without that norm
  std::vector<std::int64_t> hash_table;         // [vocabulary, top_k], empty but for router=hash
  std::vector<std::uint32_t> token_ids;         // [rows], empty but for router=hash
  LoraLayer lora;                               // empty without adapters
  std::map<int, ExpertWeights> experts;         // only those that may be chosen; row-major packing
  std::optional<ExpertWeights> shared;          // row-major packing
  std::vector<std::uint16_t> shared_gate;       // BF16 bits [hidden], empty without a gate
};

// Throws UnsupportedProblem when the problem names a feature that the builder does not have.
LayerData BuildLayer(const Problem& problem);

// One matrix of expert `expert` (-1: the shared expert), row-major; the same bytes as BuildLayer's.
PackedMatrix BuildMatrix(const Problem& problem, Projection projection, int expert);

}  // namespace assay
