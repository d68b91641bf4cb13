#include "oracle/checks.h"

namespace assay {

const std::vector<CheckInfo>& AllChecks() {
  static const std::vector<CheckInfo> checks = {
      {"memory", Checks::kFast,
       "no access leaves its tensor, and all threads of a block meet at the same barriers",
       "what optimised machine code does beyond the checked build of the same source"},
      {"launches", Checks::kFast, "the kernels that ran are those the path declares, in its order",
       "what a kernel of the right name does"},
      {"unwritten", Checks::kFast, "every output, id and weight was written",
       "an element that was written with a wrong value"},
      {"ranks", Checks::kFast,
       "all ranks of an expert-parallel step end with the same ids, weights and output",
       "what all ranks have wrong alike"},
      {"ownership", Checks::kStandard,
       "every weight is read with the scale that owns it, every scale needed is read, no other is",
       "a right byte that is decoded or used wrongly, and loads that state no weight"},
      {"routing", Checks::kStandard,
       "logits are right, ids are their top-k with the lower index winning ties, weights follow",
       "weights of a path that shows no logits"},
      {"numeric", Checks::kFast,
       "every output and every shown intermediate lies where the rounding contract admits it",
       "a deviation smaller than the rounding of the contract, and what the reference has wrong"},
      {"power", Checks::kFast,
       "trivial outputs would have been rejected and most outputs stand clear of their bound",
       "which single fault would have slipped through"},
      {"fused", Checks::kFast,
       "the path's error against real arithmetic is no larger and no more biased than its "
       "fallback's; its bits are the fallback's where it promises them",
       "what path and fallback have wrong alike, differences that the case is too small to show, "
       "paths that declare more roundings than their fallback"},
      {"graph", Checks::kFast,
       "a captured step gives the plain launches' bits in every replay, whatever lay in its "
       "scratch",
       "intermediates: a captured step shows none"},
      {"repeat", Checks::kStandard,
       "the build that ships gives the same bits as the checked one, run after run",
       "a race that happens less than once in a few runs"},
      {"poison", Checks::kStandard,
       "gaps, scratch and weights that nothing routes to do not influence the result",
       "bytes that are read and thrown away, and influences that cancel exactly"},
      {"host_bits", Checks::kStandard,
       "a GPU run and its replay on the host executor agree in every bit (on a GPU only)",
       "what both executors have wrong"},
  };
  return checks;
}

}  // namespace assay
