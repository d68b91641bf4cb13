// A bad access in words: which weight it was meant for, which bytes it touched, who made it.
#pragma once

#include "oracle/case_context.h"
#include "oracle/scale_map.h"

namespace assay {

// A bad access of a run with its totals. On a GPU the totals are the GPU's and the details those of
// the host replay, which alone orders accesses.
struct AccessReport {
  KindTotals totals;         // count: of the run under judgement
  bool from_replay = false;  // the details are the host replay's
  bool only_replay = false;  // the run under judgement saw none of them
};

// nullopt: neither run saw an access of `kind`. `replay` may be null.
std::optional<AccessReport> ReportOf(AccessKind kind, const RunRecord& run,
                                     const RunRecord* replay);

// The lowest byte at fault: over all faults in the tensor of the first one where the run knows it.
std::int64_t LowestByte(const KindTotals& totals);

// "expert 5 gate row 0 group 4 (columns 128..159), byte 1024"; "not said by the kernel".
std::string MeantText(const CaseContext& context, const AccessFault& fault);
// The owner of byte `byte` of a tensor: "expert 5 gate row 3 group 1 (...)"; "byte 7" elsewhere.
std::string OwnerText(const CaseContext& context, const std::string& tensor, std::int64_t byte);

// Evidence that every bad access has: who (block, thread, line), how often, seen by which run.
void AddAccess(Finding& finding, const AccessReport& report);

}  // namespace assay
