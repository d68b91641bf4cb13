#include "gpu/run/recorder.h"

#include <array>
#include <set>

namespace assay {
namespace {

constexpr std::array kSyncNames = {"exited_threads", "divergent_lines", "deadlock"};

Dim3 ToDim3(const Index3& index) { return {index.x, index.y, index.z}; }

AccessFault ToAccessFault(const char* kernel, const Fault& fault) {
  AccessFault access;
  access.kind = fault.kind;
  access.kernel = kernel;
  access.tensor = fault.tensor;
  access.byte = fault.index * fault.element_bytes;
  access.extent = fault.extent * fault.element_bytes;
  access.bytes = fault.element_bytes;
  access.weight = fault.weight;
  access.owner_byte = fault.owner < 0 ? -1 : fault.owner * fault.element_bytes;
  access.block = ToDim3(fault.block);
  access.thread = fault.thread;
  access.line = fault.line;
  if (fault.file != nullptr) access.file = fault.file;
  return access;
}

}  // namespace

Recorder::Recorder(const Problem& problem, RunRecord& record, ReadMemory read, bool keep_stages)
    : problem_(problem), record_(record), read_(read), keep_stages_(keep_stages) {
  if (!keep_stages) return;
  const auto slots = static_cast<std::size_t>(problem.Slots());
  const auto shared = static_cast<std::size_t>(problem.shared ? problem.rows : 0);
  const auto inter = static_cast<std::size_t>(problem.inter);
  const auto hidden = static_cast<std::size_t>(problem.hidden);
  StageBits& stages = record.stages;
  for (auto* bits : {&stages.gate, &stages.up}) bits->assign(slots * inter, 0xFFFF);
  stages.down.assign(slots * hidden, 0xFFFF);
  for (auto* bits : {&stages.shared_gate, &stages.shared_up})
    bits->assign(shared * static_cast<std::size_t>(problem.SharedInter()), 0xFFFF);
  stages.shared_down.assign(shared * hidden, 0xFFFF);
}

void Recorder::NoteLaunch(const char* kernel, const LaunchShape& shape, int registers) {
  record_.launches.push_back(
      {kernel, ToDim3(shape.grid), shape.threads, shape.shared_bytes, registers});
}

void Recorder::CountExperts() {
  std::set<std::uint32_t> experts(record_.ids.begin(), record_.ids.end());
  experts.erase(kNoExpert);
  record_.distinct_experts = static_cast<int>(experts.size());
}

void Recorder::NoteAllReduce() { record_.launches.push_back({"all_reduce", {}, 0, 0}); }

void Recorder::NoteReport(const char* kernel, const LaunchReport& report) {
  for (int kind = 0; kind < kAccessKinds; ++kind) {
    const FaultTally& tally = report.faults[kind];
    if (tally.total == 0) continue;
    KindTotals& totals = record_.faults[kind];
    if (totals.count == 0) {
      totals.first = ToAccessFault(kernel, tally.first);
      totals.lowest_byte = totals.first.byte;
    }
    totals.count += tally.total;
  }
  for (const SyncFault& fault : report.sync_faults)
    record_.sync_faults.push_back({kernel, kSyncNames[static_cast<int>(fault.kind)],
                                   ToDim3(fault.block), fault.thread, fault.line,
                                   fault.other_line});
}

}  // namespace assay
