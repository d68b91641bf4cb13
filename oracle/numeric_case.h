// For tests: outputs of a scripted case whose contract admits a chosen number of steps.
#pragma once

#include <cmath>

#include "oracle/bf16_value.h"
#include "oracle/scripted_case.h"

namespace assay {

// Exact BF16 outputs 1 + i / 128 for i < 64, then 2 + ...; admissible within `steps` BF16 steps.
struct NumericCase {
  ScriptedCase scripted = MakeScriptedCase();
  RunRecord run = MakeScriptedRun(scripted.layer.problem);
  OutputExpected expected;
  RouterExpected router;

  explicit NumericCase(int steps = 1) {
    for (std::size_t i = 0; i < run.output.size(); ++i) {
      run.output[i] = static_cast<std::uint16_t>(0x3F80 + i);
      Expect(i, ValueOfBf16(run.output[i]), steps);
    }
  }
  // One more element of the contract: `value`, and `steps` steps to either side.
  void Expect(std::size_t i, double value, int steps) {
    if (expected.exact.size() <= i) {
      expected.exact.resize(i + 1);
      expected.center.resize(i + 1);
      expected.error.resize(i + 1);
      expected.stored.resize(i + 1);
    }
    Interval stored{value, value};
    for (int step = 0; step < steps; ++step) {
      stored.low -= StepBelow(stored.low);
      stored.high += StepAbove(stored.high);
    }
    expected.exact[i] = expected.center[i] = value;
    expected.error[i] = (stored.high - stored.low) / 2;
    expected.stored[i] = stored;
  }
  CaseContext context() const { return scripted.context(); }
};

}  // namespace assay
