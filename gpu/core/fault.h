// What an executor reports about a launch: bad accesses and bad synchronisation. Trivially
// copyable, so that the device can log it; `tensor` is a host string that a device never follows.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "gpu/run/run_record.h"
#include "reference/placement.h"

namespace assay {

using Index = std::int64_t;  // Place of an element in a tensor; real layers pass 2^31 elements.

struct Index3 {
  int x, y, z;
};

struct Fault {
  AccessKind kind;
  const char* tensor;
  int ordinal;          // of the tensor, in placement order
  Index index, extent;  // in elements, from the tensor's start
  Index owner;          // element that the weight owns; -1 if not said
  int element_bytes;
  const char* file;  // of the kernel's source; not to be followed when a device wrote it
  int line;
  WeightAt weight;
  Index3 block;
  int thread;

  // Faults of one launch are ordered by this, whatever order the blocks ran in.
  auto Key() const { return std::tuple(ordinal, index, block.z, block.y, block.x, thread, line); }
};

enum class SyncKind { kExitedThreads, kDivergentLines, kDeadlock };

// Threads that did not meet as the kernel's author meant. `line` is where `thread` waits.
struct SyncFault {
  SyncKind kind;
  Index3 block;
  int thread, line, other_line;
};

// Exact totals, and of each kind the fault with the smallest key.
struct FaultTally {
  std::int64_t total = 0;
  Fault first{};

  void Add(const Fault& fault) {
    if (total++ == 0 || fault.Key() < first.Key()) first = fault;
  }
  void Merge(const FaultTally& other) {
    if (other.total > 0 && (total == 0 || other.first.Key() < first.Key())) first = other.first;
    total += other.total;
  }
};

struct LaunchReport {
  FaultTally faults[kAccessKinds];
  std::vector<SyncFault> sync_faults;
};

}  // namespace assay
