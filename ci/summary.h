// The gate's result as Markdown, for a pull request or a step summary.
#pragma once

#include <string>
#include <vector>

#include "ci/findings_log.h"
#include "ci/table.h"
#include "ci/tally.h"

namespace assay {

struct StageResult {
  std::string name;
  Tally tally;
  double seconds = 0;
};

struct Summary {
  std::string device, version;
  std::string interruption;  // "interrupted after 57 of 2000 cases"; empty: it ran to its end
  std::vector<StageResult> stages;
  std::vector<std::string> failures;  // one line each, floors among them
  Table cells{{"path format layout router shared", "own-kernel cases"}};
};

Table TableOf(const std::vector<StageResult>& stages);
Tally TotalOf(const std::vector<StageResult>& stages);
std::string SummaryMarkdown(const Summary& summary, const FindingsLog& log);

}  // namespace assay
