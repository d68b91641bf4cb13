// What one run of a path leaves behind: everything the oracle judges.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/paths.h"
#include "reference/layer_data.h"

namespace assay {

struct Dim3 {
  int x = 1, y = 1, z = 1;
};

struct LaunchInfo {
  std::string kernel;
  Dim3 grid;
  int threads = 0, shared_bytes = 0;
  int registers = 0;  // of a thread; 0 on the host executor
};

enum class AccessKind { kReadOutside, kWriteOutside, kWrongOwner, kUnrouted };
inline constexpr int kAccessKinds = 4;

// One bad access of a checked run. Offsets are in bytes from the tensor's start.
struct AccessFault {
  AccessKind kind = AccessKind::kReadOutside;
  std::string kernel, tensor;         // e.g. "gate[5].scale"
  std::int64_t byte = 0, extent = 0;  // extent in bytes
  int bytes = 1;                      // size of the access
  WeightAt weight;                    // for which weight, if the kernel said
  std::int64_t owner_byte = -1;       // the byte that this weight owns (kWrongOwner)
  Dim3 block;
  int thread = 0, line = 0;
  int rank = 0;      // of an expert-parallel step
  std::string file;  // of the kernel, "gpu/kernels/dot.h"; empty where a GPU kept the fault
};

// Threads that did not meet as the author meant.
struct SyncFaultInfo {
  std::string kernel, kind;  // exited_threads, divergent_lines, deadlock
  Dim3 block;
  int thread = 0, line = 0, other_line = 0;
};

struct KindTotals {
  std::int64_t count = 0;
  std::int64_t lowest_byte = -1;  // over all faults of the kind in the tensor of `first`
  AccessFault first;              // first in launch order, then lowest byte (host executor)
};

// Which scales of one tensor were read (host executor, checked).
struct ScaleReads {
  Projection projection = Projection::kGate;
  int expert = 0;  // -1: the shared expert
  std::string tensor;
  std::vector<std::uint8_t> read;  // one flag a scale, of whatever width
};

// Intermediates as the path left them (BF16 bits). Empty where it does not show them.
struct StageBits {
  std::vector<std::uint16_t> logits;                  // [rows, outputs], with a BF16 gate
  std::vector<float> logits_fp32;                     // the same with an FP32 gate
  std::vector<std::uint16_t> gate, up;                // [rows * top_k, inter]
  std::vector<std::uint16_t> down;                    // [rows * top_k, hidden]
  std::vector<std::uint16_t> shared_gate, shared_up;  // [rows, shared inter]
  std::vector<std::uint16_t> shared_down;             // [rows, hidden]
};

// What rank `rank` left that rank 0 left otherwise, though expert parallel wants them equal.
struct RankDifference {
  int rank = 0;
  std::string what;        // launches, ids, weights, output
  std::int64_t index = 0;  // of the first that differs
};

struct RunRecord {
  std::vector<LaunchInfo> launches;     // in order
  std::vector<std::uint16_t> output;    // BF16 bits [rows, hidden]; 0xFFFF = never written
  std::vector<std::uint32_t> ids;       // [rows, top_k]
  std::vector<float> weights;           // [rows, top_k]
  std::vector<float> identity_weights;  // [rows], empty without identity experts
  StageBits stages;
  std::vector<RankDifference> rank_differences;  // empty without expert parallel
  int distinct_experts = 0;                      // of the ids of the step
  // Of a replayed graph: its first replay's output; all else is the second's. Empty otherwise.
  std::vector<std::uint16_t> first_replay;

  bool checked = false;             // the fields below are meaningful
  KindTotals faults[kAccessKinds];  // by AccessKind
  std::vector<SyncFaultInfo> sync_faults;
  bool has_ledger = false;
  std::vector<ScaleReads> scale_reads;
};

}  // namespace assay
