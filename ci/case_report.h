// One judged case as text: where it landed and why, what ran, what was compared, the verdict.
#pragma once

#include <ostream>

#include "fuzz/case.h"

namespace assay {

// `verbose` adds the seconds of each stage and what was really compared.
void PrintVerdict(std::ostream& out, const Case& c, const Verdict& verdict, bool verbose);

}  // namespace assay
