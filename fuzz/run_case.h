// Runs one case from its line to its verdict: lands it, builds the layer, makes the runners,
// judges.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "fuzz/case.h"
#include "oracle/judge.h"

namespace assay {

// Makes the runner under judgement; the default makes the production path's.
using RunnerFactory =
    std::function<std::unique_ptr<Runner>(PathId landed, const Problem&, Device, int threads)>;

struct RunCaseOptions {
  int threads = 1;             // OpenMP threads of the host executor
  RunnerFactory factory;       // empty: production
  bool land_as_asked = false;  // planted faults of a guard: run `path` whatever Decide says
  World* world = nullptr;      // ranks of an expert-parallel step; null: threads
  std::string replay = "assay replay";  // the command that a finding names, before the quoted line
};

// Never throws on a bad case: an impossible problem, an unbuilt feature or an unfit device becomes
// a skip with its reason. Other exceptions are faults of the harness and pass through. Findings
// carry the case line and the replay command.
Verdict RunCase(const Case& c, const RunCaseOptions& options = {});

}  // namespace assay
