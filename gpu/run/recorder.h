// Fills a RunRecord while a path runs: launches, faults, and the intermediates of each token as
// soon as they are complete (a path may reuse its scratch for the next token).
#pragma once

#include "gpu/dispatch/stages.h"
#include "gpu/run/run_record.h"

namespace assay {

// Copies from the executor's memory to the host's.
using ReadMemory = void (*)(void* to, const void* from, std::size_t bytes);

class Recorder {
 public:
  Recorder(const Problem& problem, RunRecord& record, ReadMemory read, bool keep_stages);

  void NoteAllReduce();
  void NoteLaunch(const char* kernel, const LaunchShape& shape, int registers = 0);
  void NoteReport(const char* kernel, const LaunchReport& report);

  // Tokens of `range` are complete: keeps their intermediates.
  template <bool kChecked>
  void TokensDone(const Workspace<kChecked>& work, TokenRange range) {
    if (!keep_stages_) return;
    const Index slots = Index{range.count} * problem_.top_k;
    const Index to = Index{range.first} * problem_.top_k,
                from = Index{range.scratch} * problem_.top_k;
    StageBits& stages = record_.stages;
    Keep(stages.gate, work.gate, to, from, slots, problem_.inter);
    Keep(stages.up, work.up, to, from, slots, problem_.inter);
    if (work.down.Data() != nullptr)
      Keep(stages.down, work.down, to, from, slots, problem_.hidden);
    else
      stages.down.clear();  // the path adds its down results up as they come
    if (!problem_.shared) return;
    Keep(stages.shared_gate, work.shared_gate, range.first, range.scratch, range.count,
         problem_.SharedInter());
    Keep(stages.shared_up, work.shared_up, range.first, range.scratch, range.count,
         problem_.SharedInter());
    Keep(stages.shared_down, work.shared_down, range.first, range.scratch, range.count,
         problem_.hidden);
  }

  template <bool kChecked>
  void FirstReplayDone(const Workspace<kChecked>& work) {
    KeepAll(record_.first_replay, work.output, Index{problem_.rows} * problem_.hidden);
  }

  // The step is complete: logits, ids, weights, output.
  template <bool kChecked>
  void StepDone(const Workspace<kChecked>& work) {
    const Index rows = problem_.rows;
    KeepAll(record_.output, work.output, rows * problem_.hidden);
    KeepAll(record_.ids, work.ids, problem_.Slots());
    KeepAll(record_.weights, work.weights, problem_.Slots());
    CountExperts();
    KeepAll(record_.identity_weights, work.identity_weights, problem_.zero_experts > 0 ? rows : 0);
    const Index logits = rows * problem_.RouterOutputs();
    KeepAll(record_.stages.logits, work.logits, problem_.fp32_gate ? 0 : logits);
    KeepAll(record_.stages.logits_fp32, work.logits_fp32, problem_.fp32_gate ? logits : 0);
  }

 private:
  void CountExperts();
  template <class View>
  void Keep(std::vector<std::uint16_t>& to, const View& view, Index to_row, Index from_row,
            Index rows, Index width) {
    read_(to.data() + to_row * width, view.Data() + from_row * width,
          static_cast<std::size_t>(rows * width) * sizeof(std::uint16_t));
  }
  template <class T, class View>
  void KeepAll(std::vector<T>& to, const View& view, Index count) {
    to.resize(static_cast<std::size_t>(count));
    read_(to.data(), view.Data(), to.size() * sizeof(T));
  }

  const Problem& problem_;
  RunRecord& record_;
  ReadMemory read_;
  bool keep_stages_;
};

}  // namespace assay
