// Runs a path program on the host executor, checked or unchecked.
#pragma once

#include <cstring>
#include <deque>
#include <functional>

#include "gpu/host/host_executor.h"
#include "gpu/run/place_layer.h"
#include "gpu/run/recorder.h"

namespace assay {

template <bool kChecked_>
class HostMachine {
 public:
  static constexpr bool kChecked = kChecked_;

  HostMachine(HostExecutor& executor, Recorder& recorder, const Workspace<kChecked>& work,
              const Seat& seat, bool capturing)
      : executor_(executor), recorder_(recorder), work_(work), seat_(seat), capturing_(capturing) {}

  template <class Kernel>
  void Launch(const char* name, const Kernel& kernel, const typename Kernel::Args& args) {
    recorder_.NoteLaunch(name, Kernel::Shape(args));
    if (capturing_)
      graph_.push_back(
          [=, this, name = std::string(name)] { Execute(name.c_str(), kernel, args); });
    else
      Execute(name, kernel, args);
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
  void Replay() const {
    for (const auto& launch : graph_) launch();
  }

 private:
  template <class Kernel>
  void Execute(const char* name, const Kernel& kernel, const typename Kernel::Args& args) const {
    recorder_.NoteReport(name, executor_.Launch(kernel, args));
  }

  HostExecutor& executor_;
  Recorder& recorder_;
  const Workspace<kChecked>& work_;
  Seat seat_;
  bool capturing_;
  std::vector<std::function<void()>> graph_;
};

inline void ReadHost(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}
inline constexpr StagedMemory kHostMemory = {ReadHost, ReadHost};

// `Program`: Run(machine, tensors) and ScratchRows(problem).
template <class Program>
class HostRunner : public Runner {
 public:
  HostRunner(Program program, int threads, World& world = ThreadWorld())
      : program_(program), world_(world) {
    ranks_.emplace_back(threads);
  }

  RunRecord Run(const LayerData& layer, const RunOptions& options) override {
    const auto step = [&](const Seat& seat) {
      return options.checked ? RunAs<true>(layer, options, seat)
                             : RunAs<false>(layer, options, seat);
    };
    if (layer.problem.ep == 1) return step({});
    while (static_cast<int>(ranks_.size()) < layer.problem.ep) ranks_.emplace_back(1);
    return world_.Run(layer.problem, kHostMemory, step);
  }
  Device device() const override { return Device::kHost; }

 private:
  template <bool kChecked>
  RunRecord RunAs(const LayerData& layer, const RunOptions& options, const Seat& seat) {
    const bool graph = layer.problem.graph && options.graph;
    Rank& rank = ranks_[seat.rank];
    RunRecord record;
    Ledger ledger;
    PlaceOptions place{&layer,
                       program_.ScratchRows(layer.problem),
                       nullptr,
                       program_.GroupsRows(),
                       program_.Accumulates(),
                       seat};
    Arena measured;
    PlaceLayer<kChecked>(place, measured);
    rank.memory.resize(measured.Used());
    FillPoison(rank.memory, options.poison);
    place.ledger = &ledger;
    Arena arena(rank.memory.data(), rank.memory.data());
    const auto tensors = PlaceLayer<kChecked>(place, arena);
    Recorder recorder(layer.problem, record, ReadHost, kChecked && !graph);
    HostMachine<kChecked> machine(rank.executor, recorder, tensors.work, seat, graph);
    program_.Run(machine, tensors);
    if (graph) {
      const auto scratch = std::span(rank.memory).subspan(arena.ScratchBegin());
      Replay(machine, scratch, tensors, options.poison);
      recorder.FirstReplayDone(tensors.work);
      Replay(machine, scratch, tensors, OtherPoison(options.poison));
    }
    recorder.StepDone(tensors.work);
    record.checked = record.has_ledger = kChecked;
    record.scale_reads.assign(std::make_move_iterator(ledger.begin()),
                              std::make_move_iterator(ledger.end()));
    return record;
  }

  // Scratch as before a run, then the whole captured step.
  template <bool kChecked>
  static void Replay(const HostMachine<kChecked>& machine, std::span<std::byte> scratch,
                     const LayerTensors<kChecked>& tensors, Poison poison) {
    const std::span output(tensors.work.output.Data(), OutputSize(*tensors.problem));
    PoisonScratch(scratch, poison, std::as_writable_bytes(output));
    machine.Replay();
  }

  struct Rank {
    explicit Rank(int threads) : executor(threads) {}

    HostExecutor executor;
    std::vector<std::byte> memory;  // kept for the next run
  };

  Program program_;
  World& world_;
  std::deque<Rank> ranks_;
};

}  // namespace assay
