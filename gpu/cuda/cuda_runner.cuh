// Runs a path program on a GPU, checked or unchecked.
#pragma once

#include <algorithm>
#include <deque>

#include "gpu/cuda/cuda_context.cuh"
#include "gpu/cuda/cuda_memory.h"
#include "gpu/cuda/nccl.h"
#include "gpu/run/place_layer.h"
#include "gpu/run/recorder.h"

namespace assay {

template <bool kChecked_>
class CudaMachine {
 public:
  static constexpr bool kChecked = kChecked_;
  static constexpr int kPlainSharedBytes = 48 * 1024;  // more needs the function attribute

  CudaMachine(CudaFaultLog* log, Recorder& recorder, const Workspace<kChecked>& work,
              const Seat& seat)
      : log_(log), recorder_(recorder), work_(work), seat_(seat) {}

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
  // Adds the ranks' values: expert parallel only.
  void AllReduce(const View<Bf16, kChecked>& values, Index count) {
    recorder_.NoteAllReduce();
    seat_.communicator->AllReduce(values.Data(), static_cast<std::size_t>(count));
  }
  int Rank() const { return seat_.rank; }
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
        log.kept[kind][i].tensor = NameOnHost(log.kept[kind][i].tensor);
        report.faults[kind].Add(log.kept[kind][i]);
      }
      report.faults[kind].total = static_cast<std::int64_t>(log.total[kind]);
    }
    return report;
  }

  CudaFaultLog* log_;
  Recorder& recorder_;
  const Workspace<kChecked>& work_;
  Seat seat_;
};

template <class Program>
class CudaRunner : public Runner {
 public:
  CudaRunner(Program program, World& world) : program_(program), world_(world) {}

  RunRecord Run(const LayerData& layer, const RunOptions& options) override {
    const auto step = [&](const Seat& seat) {
      UseDeviceOf(seat.rank);
      return options.checked ? RunAs<true>(layer, options.poison, seat)
                             : RunAs<false>(layer, options.poison, seat);
    };
    while (static_cast<int>(ranks_.size()) < layer.problem.ep) ranks_.emplace_back();
    if (layer.problem.ep == 1) return step({});
    return world_.Run(layer.problem, {ReadCuda, WriteCuda}, step);
  }
  Device device() const override { return Device::kCuda; }

 private:
  template <bool kChecked>
  RunRecord RunAs(const LayerData& layer, Poison poison, const Seat& seat) {
    Rank& rank = ranks_[seat.rank];
    const auto nccl = Nccl(layer.problem.ep, seat);
    const Seat place_of{seat.rank, seat.experts, nccl ? nccl.get() : seat.communicator};
    RunRecord record;
    const PlaceOptions place{&layer, program_.ScratchRows(layer.problem), nullptr,
                             program_.GroupsRows(), seat};
    Arena measured;
    PlaceLayer<kChecked>(place, measured);
    rank.image.resize(measured.Used());
    FillPoison(rank.image, poison);
    rank.log.Reserve(sizeof(CudaFaultLog));
    rank.memory.Reserve(rank.image.size());
    Arena arena(rank.image.data(), rank.memory.data());
    const auto tensors = PlaceLayer<kChecked>(place, arena);
    WriteCuda(rank.memory.data(), rank.image.data(), rank.image.size());
    Recorder recorder(layer.problem, record, ReadCuda, kChecked);
    CudaMachine<kChecked> machine(reinterpret_cast<CudaFaultLog*>(rank.log.data()), recorder,
                                  tensors.work, place_of);
    program_.Run(machine, tensors);
    CheckCuda(cudaDeviceSynchronize(), "the step");
    recorder.StepDone(tensors.work);
    record.checked = kChecked;
    return record;
  }

  // With a GPU for each rank NCCL reduces on them; else the values go through the host.
  static std::unique_ptr<Communicator> Nccl(int ranks, const Seat& seat) {
    if (ranks == 1 || Devices() < ranks || NcclProblem()) return nullptr;
    return MakeNcclCommunicator(seat.rank, ranks, *seat.communicator);
  }

  struct Rank {
    CudaMemory log, memory;
    std::vector<std::byte> image;  // kept for the next run
  };

  Program program_;
  World& world_;
  std::deque<Rank> ranks_;
};

}  // namespace assay
