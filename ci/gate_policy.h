// What the gate runs and what it demands: ci/gate.toml, whose comments document every key.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/generate.h"
#include "oracle/verdict.h"

namespace assay {

struct GatePolicy {
  // [corpus]
  std::vector<std::string> corpus_files;
  // [fuzz]
  std::int64_t cases = 0;
  std::uint64_t seed = 0;
  Distribution distribution = Distribution::kDefault;
  Checks checks = Checks::kStandard;
  // [goldens]
  std::vector<std::string> golden_folders;
  // [floors]
  std::int64_t own_kernel_cases = 0, variant_cases = 0;
  std::int64_t elements = 0, experts = 0;
  std::int64_t goldens = 0;
  double vacuous_share = 1;

  bool operator==(const GatePolicy&) const = default;
};

// Every key must be there, once and with the right type; an unknown key is an error. Throws
// UsageError "gate.toml:12: ...". `name` stands for the file in messages.
GatePolicy ParseGatePolicy(std::string_view text, const std::string& name);
GatePolicy ReadGatePolicy(const std::string& path);

}  // namespace assay
