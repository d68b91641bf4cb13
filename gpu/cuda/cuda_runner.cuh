// Runs a path program on a GPU, checked or unchecked.
#pragma once

#include <algorithm>
#include <deque>

#include "gpu/cuda/capture_gate.h"
#include "gpu/cuda/cuda_context.cuh"
#include "gpu/cuda/cuda_graph.h"
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
              const Seat& seat, cudaStream_t stream, bool capturing)
      : log_(log),
        recorder_(recorder),
        work_(work),
        seat_(seat),
        stream_(stream),
        capturing_(capturing) {}

  template <class Kernel>
  void Launch(const char* name, const Kernel&, const typename Kernel::Args& args) {
    const LaunchShape shape = Kernel::Shape(args);
    const dim3 grid(shape.grid.x, shape.grid.y, shape.grid.z);
    cudaFuncAttributes attributes;  // asking for them loads the kernel before a capture meets it
    CheckCuda(cudaFuncGetAttributes(&attributes, RunKernel<Kernel>), name);
    recorder_.NoteLaunch(name, shape, attributes.numRegs);
    if (shape.shared_bytes > kPlainSharedBytes)
      CheckCuda(cudaFuncSetAttribute(RunKernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                     shape.shared_bytes),
                name);
    const bool reads_log = kChecked && !capturing_;
    if (reads_log) ClearLog(name);
    RunKernel<Kernel><<<grid, shape.threads, shape.shared_bytes, stream_>>>(args, log_);
    CheckCuda(cudaGetLastError(), name);
    if (reads_log) recorder_.NoteReport(name, ReadLog(name));
  }
  bool Capturing() const { return capturing_; }
  // Adds the ranks' values: expert parallel only.
  void AllReduce(const View<Bf16, kChecked>& values, Index count) {
    recorder_.NoteAllReduce();
    seat_.communicator->AllReduce(values.Data(), static_cast<std::size_t>(count));
  }
  int Rank() const { return seat_.rank; }
  // A captured step keeps no intermediates: they would be copies between its launches.
  void TokensDone(TokenRange range) {
    if (!capturing_) recorder_.TokensDone(work_, range);
  }

  void ClearLog(const char* name) {
    CheckCuda(cudaMemsetAsync(log_, 0, sizeof(log_->total), stream_), name);
  }
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

 private:
  CudaFaultLog* log_;
  Recorder& recorder_;
  const Workspace<kChecked>& work_;
  Seat seat_;
  cudaStream_t stream_;
  bool capturing_;
};

template <class Program>
class CudaRunner : public Runner {
 public:
  explicit CudaRunner(Program program, World& world = ThreadWorld())
      : program_(program), world_(world) {}

  RunRecord Run(const LayerData& layer, const RunOptions& options) override {
    const auto step = [&](const Seat& seat) {
      UseDeviceOf(seat.rank);
      return options.checked ? RunAs<true>(layer, options, seat)
                             : RunAs<false>(layer, options, seat);
    };
    while (static_cast<int>(ranks_.size()) < layer.problem.ep) ranks_.emplace_back();
    const InsideGate gate(layer.problem.graph && options.graph);  // once for all ranks
    if (layer.problem.ep == 1) return step({});
    return world_.Run(layer.problem, {ReadCuda, WriteCuda}, step);
  }
  Device device() const override { return Device::kCuda; }

 private:
  template <bool kChecked>
  RunRecord RunAs(const LayerData& layer, const RunOptions& options, const Seat& seat) {
    const bool graph = layer.problem.graph && options.graph;
    Rank& rank = ranks_[seat.rank];
    const auto nccl = Nccl(layer.problem.ep, seat);
    const Seat place_of{seat.rank, seat.experts, nccl ? nccl.get() : seat.communicator};
    RunRecord record;
    const PlaceOptions place{&layer,
                             program_.ScratchRows(layer.problem),
                             nullptr,
                             program_.GroupsRows(),
                             program_.Accumulates(),
                             seat};
    Arena measured;
    PlaceLayer<kChecked>(place, measured);
    rank.image.resize(measured.Used());
    FillPoison(rank.image, options.poison);
    rank.log.Reserve(sizeof(CudaFaultLog));
    rank.memory.Reserve(rank.image.size());
    Arena arena(rank.image.data(), rank.memory.data());
    const auto tensors = PlaceLayer<kChecked>(place, arena);
    WriteCuda(rank.memory.data(), rank.image.data(), rank.image.size());
    Recorder recorder(layer.problem, record, ReadCuda, kChecked && !graph);
    const CudaStream stream;  // of the device that this rank uses
    CudaMachine<kChecked> machine(reinterpret_cast<CudaFaultLog*>(rank.log.data()), recorder,
                                  tensors.work, place_of, stream.get(), graph);
    const auto step = [&] { program_.Run(machine, tensors); };
    if (graph) {
      const CudaGraph captured(stream.get(), step);
      Replay(captured, machine, rank, arena.ScratchBegin(), tensors, options.poison, recorder);
      recorder.FirstReplayDone(tensors.work);
      Replay(captured, machine, rank, arena.ScratchBegin(), tensors, OtherPoison(options.poison),
             recorder);
    } else {
      step();
    }
    CheckCuda(cudaDeviceSynchronize(), "the step");
    recorder.StepDone(tensors.work);
    record.checked = kChecked;
    return record;
  }

  struct Rank {
    CudaMemory log, memory;
    std::vector<std::byte> image;  // kept for the next run
  };

  // Scratch as before a run, then the whole captured step. The faults of a graph are not those of
  // one kernel: the host replay knows whose they are.
  template <bool kChecked>
  static void Replay(const CudaGraph& graph, CudaMachine<kChecked>& machine, Rank& rank,
                     std::size_t scratch_begin, const LayerTensors<kChecked>& tensors,
                     Poison poison, Recorder& recorder) {
    constexpr const char* kName = "graph";
    const std::span<std::byte> scratch = std::span(rank.image).subspan(scratch_begin);
    const auto* output = reinterpret_cast<const std::byte*>(tensors.work.output.Data());
    PoisonScratch(
        scratch, poison,
        std::span(rank.image)
            .subspan(output - rank.memory.data(), OutputSize(*tensors.problem) * sizeof(Bf16)));
    WriteCuda(rank.memory.data() + scratch_begin, scratch.data(), scratch.size());
    if (kChecked) machine.ClearLog(kName);
    graph.Launch();
    if (kChecked) recorder.NoteReport(kName, machine.ReadLog(kName));
  }

  // With a GPU for each rank NCCL reduces on them; else the values go through the host.
  static std::unique_ptr<Communicator> Nccl(int ranks, const Seat& seat) {
    if (ranks == 1 || Devices() < ranks || NcclProblem()) return nullptr;
    return MakeNcclCommunicator(seat.rank, ranks, *seat.communicator);
  }

  Program program_;
  World& world_;
  std::deque<Rank> ranks_;
};

}  // namespace assay
