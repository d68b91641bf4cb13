// Judges one case: asks the runners for runs, compares them with the reference and with each other.
#pragma once

#include "gpu/run/runner.h"
#include "oracle/verdict.h"
#include "reference/layer_data.h"

namespace assay {

struct Candidates {
  Runner* path = nullptr;      // the path under judgement (or a planted fault of it)
  Runner* fallback = nullptr;  // the path that `path` replaces; null: it replaces none
  Runner* host_replay =
      nullptr;  // on a GPU: the same kernels on the host executor; null on the host
};

// Runs the checks of `level` in the order cheap and fatal first. `landing` must not be refused.
Verdict Judge(const LayerData& layer, const Landing& landing, const Candidates& candidates,
              Checks level);

}  // namespace assay
