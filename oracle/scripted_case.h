// For tests: a layer by description only, and runners that do what a test tells them.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "gpu/run/runner.h"
#include "oracle/case_context.h"

namespace assay {

// A description with named experts and no weights: enough for every check but the judge.
struct ScriptedCase {
  LayerData layer;
  Landing landing;

  CaseContext context() const { return {layer, landing}; }
};

// MXFP4, transposed, hidden 64 (2 groups of 32), inter 32, 2 tokens, top 2 of 8; experts 1, 2 and 5
// are built. One scale byte of gate[5] at group * 32 + row.
inline ScriptedCase MakeScriptedCase() {
  ScriptedCase c;
  Problem& p = c.layer.problem;
  p.rows = 2;
  p.hidden = 64;
  p.inter = 32;
  p.experts = 8;
  p.top_k = 2;
  p.format = Format::kMxfp4;
  p.layout = Layout::kTransposed;
  for (const int expert : {1, 2, 5}) c.layer.experts[expert];
  for (int i = 0; i < p.rows * p.hidden; ++i) c.layer.input.push_back(0x3F80 + i);
  c.landing = {PathId::kK3, PathId::kK3, {Decision{}}};
  return c;
}

// A run of that case in which everything was written: output 1.0, ids 5 1 | 1 2, weights 1/2.
inline RunRecord MakeScriptedRun(const Problem& p) {
  RunRecord run;
  run.output.assign(static_cast<std::size_t>(p.rows) * p.hidden, 0x3F80);
  run.ids = {5, 1, 1, 2};
  run.weights = {0.5f, 0.5f, 0.5f, 0.5f};
  run.checked = true;
  return run;
}

class ScriptedRunner : public Runner {
 public:
  using Script = std::function<RunRecord(const LayerData&, const RunOptions&)>;
  explicit ScriptedRunner(Script script, Device device = Device::kHost)
      : script_(std::move(script)), device_(device) {}

  RunRecord Run(const LayerData& layer, const RunOptions& options) override {
    ++runs;
    return script_(layer, options);
  }
  Device device() const override { return device_; }

  int runs = 0;

 private:
  Script script_;
  Device device_;
};

// The value of `key`; "(absent)" if the finding does not have it.
inline std::string EvidenceOf(const Finding& finding, const std::string& key) {
  for (const auto& [name, value] : finding.evidence)
    if (name == key) return value;
  return "(absent)";
}

}  // namespace assay
