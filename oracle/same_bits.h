// Bitwise comparison of two runs.
#pragma once

#include <optional>
#include <string>

#include "oracle/case_context.h"
#include "oracle/free_order.h"

namespace assay {

struct BitDifference {
  std::string tensor;  // logits ids weights gate up down shared_gate shared_up shared_down output
  std::int64_t index = 0, count = 0, total = 0;  // of the first difference; in this tensor
  std::string where;                             // "token 0, column 5"
  std::string left, right;                       // the two values

  void AddTo(Finding& finding, std::string_view left_name, std::string_view right_name) const;
};

// Whether intermediates take part: they are the same in two runs of one build on one device, but a
// poison pair need not keep those that no output depends on.
enum class Compared { kResults, kEverything };

// The first tensor, in order of computation, that differs; nullopt: the same bits. With `free` the
// outputs may differ by what it explains.
std::optional<BitDifference> FirstDifference(const CaseContext& context, const RunRecord& left,
                                             const RunRecord& right, Compared compared,
                                             const FreeOrder* free = nullptr);

}  // namespace assay
