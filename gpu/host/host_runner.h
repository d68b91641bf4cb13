// Runs a path program on the host executor, checked or unchecked.
#pragma once

#include <cstring>

#include "gpu/host/host_executor.h"
#include "gpu/run/place_layer.h"
#include "gpu/run/recorder.h"

namespace assay {

template <bool kChecked_>
class HostMachine {
 public:
  static constexpr bool kChecked = kChecked_;

  HostMachine(HostExecutor& executor, Recorder& recorder, const Workspace<kChecked>& work)
      : executor_(executor), recorder_(recorder), work_(work) {}

  template <class Kernel>
  void Launch(const char* name, const Kernel& kernel, const typename Kernel::Args& args) {
    recorder_.NoteLaunch(name, Kernel::Shape(args));
    recorder_.NoteReport(name, executor_.Launch(kernel, args));
  }
  void TokensDone(TokenRange range) { recorder_.TokensDone(work_, range); }

 private:
  HostExecutor& executor_;
  Recorder& recorder_;
  const Workspace<kChecked>& work_;
};

inline void ReadHost(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

// `Program`: Run(machine, tensors) and ScratchRows(problem).
template <class Program>
class HostRunner : public Runner {
 public:
  HostRunner(Program program, int threads) : program_(program), executor_(threads) {}

  RunRecord Run(const LayerData& layer, const RunOptions& options) override {
    return options.checked ? RunAs<true>(layer, options.poison)
                           : RunAs<false>(layer, options.poison);
  }
  Device device() const override { return Device::kHost; }

 private:
  template <bool kChecked>
  RunRecord RunAs(const LayerData& layer, Poison poison) {
    RunRecord record;
    Ledger ledger;
    PlaceOptions place{&layer, program_.ScratchRows(layer.problem), nullptr, program_.GroupsRows()};
    Arena measured;
    PlaceLayer<kChecked>(place, measured);
    memory_.resize(measured.Used());
    FillPoison(memory_, poison);
    place.ledger = &ledger;
    Arena arena(memory_.data(), memory_.data());
    const auto tensors = PlaceLayer<kChecked>(place, arena);
    Recorder recorder(layer.problem, record, ReadHost, kChecked);
    HostMachine<kChecked> machine(executor_, recorder, tensors.work);
    program_.Run(machine, tensors);
    recorder.StepDone(tensors.work);
    record.checked = record.has_ledger = kChecked;
    record.scale_reads.assign(std::make_move_iterator(ledger.begin()),
                              std::make_move_iterator(ledger.end()));
    return record;
  }

  Program program_;
  HostExecutor executor_;
  std::vector<std::byte> memory_;  // kept for the next run
};

}  // namespace assay
