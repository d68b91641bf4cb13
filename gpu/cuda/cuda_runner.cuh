// Runs a path program on a GPU, checked or unchecked.
#pragma once

#include <algorithm>

#include "gpu/cuda/cuda_context.cuh"
#include "gpu/cuda/cuda_memory.h"
#include "gpu/run/place_layer.h"
#include "gpu/run/recorder.h"

namespace assay {

template <bool kChecked_>
class CudaMachine {
 public:
  static constexpr bool kChecked = kChecked_;
  static constexpr int kPlainSharedBytes = 48 * 1024;  // more needs the function attribute

  CudaMachine(CudaFaultLog* log, Recorder& recorder, const Workspace<kChecked>& work)
      : log_(log), recorder_(recorder), work_(work) {}

  template <class Kernel>
  void Launch(const char* name, const Kernel&, const typename Kernel::Args& args) {
    const LaunchShape shape = Kernel::Shape(args);
    const dim3 grid(shape.grid.x, shape.grid.y, shape.grid.z);
    recorder_.NoteLaunch(name, shape);
    if (shape.shared_bytes > kPlainSharedBytes)
      CheckCuda(cudaFuncSetAttribute(RunKernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     shape.shared_bytes),
                name);
    if (kChecked) CheckCuda(cudaMemsetAsync(log_, 0, sizeof(log_->total)), name);
    RunKernel<Kernel><<<grid, shape.threads, shape.shared_bytes>>>(args, log_);
    CheckCuda(cudaGetLastError(), name);
    if (kChecked) recorder_.NoteReport(name, ReadLog(name));
  }
  void TokensDone(TokenRange range) { recorder_.TokensDone(work_, range); }

 private:
  LaunchReport ReadLog(const char* name) {
    CudaFaultLog log;
    CheckCuda(cudaMemcpy(&log.total, log_, sizeof(log.total), cudaMemcpyDeviceToHost), name);
    LaunchReport report;
    if (std::all_of(log.total, log.total + kAccessKinds, [](auto n) { return n == 0; }))
      return report;
    CheckCuda(cudaMemcpy(&log, log_, sizeof(log), cudaMemcpyDeviceToHost), name);
    for (int kind = 0; kind < kAccessKinds; ++kind) {
      const auto kept = std::min<unsigned long long>(log.total[kind], CudaFaultLog::kKept);
      for (unsigned long long i = 0; i < kept; ++i) {
        log.kept[kind][i].file = nullptr;  // a device string
        report.faults[kind].Add(log.kept[kind][i]);
      }
      report.faults[kind].total = static_cast<std::int64_t>(log.total[kind]);
    }
    return report;
  }

  CudaFaultLog* log_;
  Recorder& recorder_;
  const Workspace<kChecked>& work_;
};

template <class Program>
class CudaRunner : public Runner {
 public:
  explicit CudaRunner(Program program) : program_(program), log_(sizeof(CudaFaultLog)) {}

  RunRecord Run(const LayerData& layer, const RunOptions& options) override {
    return options.checked ? RunAs<true>(layer, options.poison)
                           : RunAs<false>(layer, options.poison);
  }
  Device device() const override { return Device::kCuda; }

 private:
  template <bool kChecked>
  RunRecord RunAs(const LayerData& layer, Poison poison) {
    RunRecord record;
    const PlaceOptions place{&layer, program_.ScratchRows(layer.problem), nullptr,
                             program_.GroupsRows()};
    Arena measured;
    PlaceLayer<kChecked>(place, measured);
    image_.resize(measured.Used());
    FillPoison(image_, poison);
    memory_.Reserve(image_.size());
    Arena arena(image_.data(), memory_.data());
    const auto tensors = PlaceLayer<kChecked>(place, arena);
    CheckCuda(cudaMemcpy(memory_.data(), image_.data(), image_.size(), cudaMemcpyHostToDevice),
              "upload of the layer");
    Recorder recorder(layer.problem, record, ReadCuda, kChecked);
    CudaMachine<kChecked> machine(reinterpret_cast<CudaFaultLog*>(log_.data()), recorder,
                                  tensors.work);
    program_.Run(machine, tensors);
    CheckCuda(cudaDeviceSynchronize(), "the step");
    recorder.StepDone(tensors.work);
    record.checked = kChecked;
    return record;
  }

  Program program_;
  CudaMemory log_, memory_;
  std::vector<std::byte> image_;  // kept for the next run
};

}  // namespace assay
