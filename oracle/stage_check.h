// Where a run left the contract: each intermediate that the path shows, against its interval.
#pragma once

#include <string>
#include <vector>

#include "oracle/case_context.h"

namespace assay {

struct StageResult {
  std::string stage;  // router, gate, up, down, shared_gate, shared_up, shared_down
  std::int64_t compared = 0, wrong = 0;
  std::string where;  // of the first wrong element: "token 0 slot 1 (expert 5), row 17"
  Interval expected;
  std::uint16_t got = 0;

  std::string ToText() const;  // "down: 3 of 512 wrong, first token 0 ..., expected ..., got ..."
};

// In order of computation; a stage that the path does not show is left out.
std::vector<StageResult> JudgeStages(const CaseContext& context, const RunRecord& run,
                                     const RouterExpected& router, const StageExpected& expected);

// The first stage with a wrong element; null: all those shown are within the contract.
const StageResult* FirstWrong(const std::vector<StageResult>& stages);

// The launched kernel that computes `stage` (also: selection, blend), by the words in its name; ""
// if none says so.
std::string KernelOf(const RunRecord& run, std::string_view stage);

// The stage whose tensor (as in same_bits.h) differs.
std::string StageOfTensor(const std::string& tensor);

}  // namespace assay
