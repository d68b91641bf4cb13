// Runs one path (ours, or a planted fault of it) on one device. The oracle asks it for runs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gpu/run/run_record.h"
#include "gpu/run/world.h"

namespace assay {

enum class Device { kHost, kCuda };

// What every byte that no kernel may depend on holds before a run: gaps between tensors, scratch,
// weights of experts that cannot be chosen. The output is always 0xFFFF.
enum class Poison { kOnes, kZeros, kRandom };

struct RunOptions {
  bool checked = true;  // tracked views; false: the build that ships
  Poison poison = Poison::kOnes;
  // Where the layer asks for graph=on: its launches are captured and replayed twice, scratch filled
  // with poison before each replay. false: plain launches.
  bool graph = true;
};

class Runner {
 public:
  virtual ~Runner() = default;
  // The problem must land on this runner's path. Throws EnvironmentError, never crashes.
  virtual RunRecord Run(const LayerData& layer, const RunOptions& options) = 0;
  virtual Device device() const = 0;
};

// A runner for a production path; `landed` is a path whose Decide() says it runs. `threads`:
// OpenMP threads of the host executor (1 for case-level parallelism). `world`: who runs
// the ranks of an expert-parallel step.
std::unique_ptr<Runner> MakeRunner(PathId landed, Device device, int threads,
                                   World& world = ThreadWorld());

// nullopt: `device` can run here. Otherwise one line: why not, and the way out.
std::optional<std::string> DeviceProblem(Device device);
// "NVIDIA H200, driver 580.159, CUDA 13.0" or "host executor, 2 threads, AMD EPYC".
std::string DeviceName(Device device);
// Checks FTZ/DAZ, contraction, division, FMA. nullopt: fit. Otherwise one line that names it.
std::optional<std::string> ArithmeticProblem();

}  // namespace assay
