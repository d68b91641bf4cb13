// A corpus file: one case a line; the `#` comment above a line says why the case is there.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "fuzz/case.h"

namespace assay {

struct CorpusCase {
  Case c;
  std::string why;  // the comment lines directly above, joined by blanks
  int line = 0;     // from 1
};

// Throws UsageError "NAME:LINE: ..." for a line that is no case, and for a case without a reason.
std::vector<CorpusCase> ReadCorpus(std::istream& in, const std::string& name);
std::vector<CorpusCase> ReadCorpusFile(const std::string& path);

}  // namespace assay
