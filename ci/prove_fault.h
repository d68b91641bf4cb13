// Whether a planted fault is found, and by the check that must find it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "fuzz/faults/fault.h"
#include "fuzz/run_case.h"

namespace assay {

struct ProofOptions {
  Device device = Device::kHost;
  int threads = 1;
  std::int64_t generated = 0;  // > 0: on generated cases until found, at most so many, ...
  std::uint64_t seed = 1;      // ... from this seed; 0: on the fault's smallest case
  bool shrink = true;
  std::function<bool()> stop;
};

struct FaultProof {
  bool found = false;               // by its own check
  Finding finding;                  // of its own check, on `smallest`
  std::vector<std::string> others;  // other checks that saw it too, or instead
  Case smallest;                    // shrunk; the last case judged if not found
  Verdict verdict;                  // of the case where it was found (or of the last one)
  std::int64_t cases = 0;           // judged with the fault in place
  double seconds = 0;
  bool interrupted = false;
};

// How RunCase runs a case with this fault planted: its kernels in the path that was asked.
RunCaseOptions Planted(const Fault& fault, PathId path, int threads);

FaultProof ProveFault(const Fault& fault, const ProofOptions& options);

// Throws UsageError that names the nearest faults.
const Fault& RequireFault(const std::string& name);

}  // namespace assay
