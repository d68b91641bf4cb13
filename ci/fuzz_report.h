// A campaign's result as text: cells, refusals, skips, where the time went, findings.
#pragma once

#include <string>

#include "ci/findings_log.h"
#include "ci/table.h"
#include "fuzz/campaign.h"

namespace assay {

Table CellTable(const CampaignResult& result);
Table ReasonTable(const CampaignResult& result);  // refusals by rule and skips by reason
Table StageTable(const CampaignResult& result);   // seconds of all workers, share, per case
Table FoldedTable(const FindingsLog& log);

// "2000 cases in 31.4 s, 63.7 a second; median hidden 128, inter 128; ..."
std::string CampaignLine(const CampaignResult& result);

// "interrupted after 57 of 2000 cases"; without "of" if `total` is 0, not known.
std::string InterruptedText(std::int64_t done, std::int64_t total);

std::int64_t CasesOf(const CampaignResult& result);

}  // namespace assay
