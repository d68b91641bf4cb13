#include "ci/checks_table.h"

namespace assay {

Table ChecksTable() {
  Table table({"check", "level", "what it sees"});
  const auto add = [&](const char* check, const char* level, const char* what) {
    table.Add({check, level, what});
  };
  add("memory", "fast", "reads and writes outside a tensor; threads that miss a barrier");
  add("unwritten", "fast", "output elements that no kernel wrote");
  add("launches", "fast", "kernels that ran beside or instead of the declared ones");
  add("numeric", "fast", "values outside the rounding contract of the path that ran");
  add("fused", "fast", "a fused path that drifts from the path it replaces");
  add("power", "fast", "outputs too trivial to show a fault: the case is vacuous, not passed");
  add("ownership", "standard", "scale bytes read for a weight that does not own them, or not read");
  add("routing", "standard", "chosen experts, ties and weights against the stored logits");
  add("poison", "standard", "output that changes with bytes no kernel may depend on");
  add("repeat", "standard", "output that changes between two equal runs");
  add("host_bits", "standard", "CUDA only: outputs that differ from the host executor's bits");
  return table;
}

}  // namespace assay
