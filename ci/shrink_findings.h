// Shrinks the folded findings of a campaign and keeps their shortest lines in the log.
#pragma once

#include <functional>

#include "ci/findings_log.h"
#include "fuzz/campaign.h"

namespace assay {

void ShrinkFindings(FindingsLog& log, const CampaignResult& result,
                    const std::function<Verdict(const Case&)>& judge,
                    const std::function<bool()>& stop);

}  // namespace assay
