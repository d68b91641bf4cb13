// What the order of FP32 additions can explain between two runs of one path on the same bytes.
#pragma once

#include <vector>

#include "oracle/case_context.h"

namespace assay {

struct FreeOrder {
  std::vector<double> spread;  // per output element, before its last rounding

  // Whether two stored outputs of element `at` can come from sums that lie within its spread.
  bool Explains(std::size_t at, std::uint16_t a, std::uint16_t b) const;
};

// Of runs with the ids and weights of `run`; `expected` must show the down stages.
FreeOrder SpreadOf(const CaseContext& context, const RunRecord& run,
                   const OutputExpected& expected);

}  // namespace assay
