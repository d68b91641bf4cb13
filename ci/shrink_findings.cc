#include "ci/shrink_findings.h"

#include "fuzz/shrink.h"

namespace assay {
namespace {

const Finding* WithFingerprint(const Verdict& verdict, const std::string& fingerprint) {
  for (const Finding& finding : verdict.findings) {
    if (finding.Fingerprint() == fingerprint) return &finding;
  }
  return nullptr;
}

// The failing case with this finding whose line is shortest: the best place to start.
const std::pair<Case, Verdict>* ShortestWith(const CampaignResult& result,
                                             const std::string& fingerprint) {
  const std::pair<Case, Verdict>* best = nullptr;
  for (const auto& failure : result.failures) {
    if (WithFingerprint(failure.second, fingerprint) == nullptr) continue;
    const bool shorter =
        best == nullptr || ToLine(failure.first).size() < ToLine(best->first).size();
    if (shorter) best = &failure;
  }
  return best;
}

}  // namespace

void ShrinkFindings(FindingsLog& log, const CampaignResult& result,
                    const std::function<Verdict(const Case&)>& judge,
                    const std::function<bool()>& stop) {
  const std::vector<FoldedFinding> folded = log.findings();
  for (const FoldedFinding& one : folded) {
    if (stop && stop()) break;
    const std::string fingerprint = one.finding.Fingerprint();
    const auto* start = ShortestWith(result, fingerprint);
    if (start == nullptr) continue;
    Verdict only = start->second;  // another finding of the same case must not lead the search
    only.findings = {*WithFingerprint(start->second, fingerprint)};
    const Shrunk shrunk = Shrink(start->first, only, judge, 400, stop);
    const Finding* smallest = WithFingerprint(shrunk.verdict, fingerprint);
    if (smallest != nullptr) log.Replace(*smallest, shrunk.smallest);
  }
  log.Finish();
}

}  // namespace assay
