#include "ci/findings_log.h"

#include <nlohmann/json.hpp>

#include "ci/output_files.h"
#include "reports/finding_json.h"
#include "reports/record.h"

namespace assay {
namespace {

nlohmann::json Fields(const FoldedFinding& folded) {
  nlohmann::json fields = ToJson(folded.finding);
  fields["first_case"] = ToLine(folded.first);
  fields["cases"] = folded.cases;
  return fields;
}

}  // namespace

FindingsLog::FindingsLog(std::string path, Earlier earlier)
    : path_(std::move(path)), earlier_(earlier) {
  if (path_.empty()) return;
  if (earlier_ == Earlier::kReplaced) {
    WriteWholeFile(path_, "");
  } else {
    RecordWriter(path_).Close();  // an unfit place is named before the first case
  }
}

FoldedFinding* FindingsLog::Find(const std::string& fingerprint) {
  for (FoldedFinding& folded : findings_) {
    if (folded.finding.Fingerprint() == fingerprint) return &folded;
  }
  return nullptr;
}

void FindingsLog::Write(const FoldedFinding& folded) {
  if (path_.empty()) return;
  const std::string fingerprint = folded.finding.Fingerprint();
  const std::string line = RecordLine(RecordType::kFinding, Fields(folded));
  if (const auto known = written_.find(fingerprint);
      known != written_.end() && known->second == line)
    return;
  RecordWriter(path_).Append(RecordType::kFinding, Fields(folded));
  written_[fingerprint] = line;
}

void FindingsLog::Add(const Case& c, const Verdict& verdict) {
  for (const Finding& finding : verdict.findings) {
    if (FoldedFinding* known = Find(finding.Fingerprint())) {
      ++known->cases;
      continue;
    }
    findings_.push_back({finding, c, c, 1});
    Write(findings_.back());
  }
}

void FindingsLog::Replace(const Finding& finding, const Case& smallest) {
  if (FoldedFinding* known = Find(finding.Fingerprint())) {
    known->finding = finding;
    known->smallest = smallest;
  }
}

void FindingsLog::Finish() {
  if (path_.empty()) return;
  if (earlier_ == Earlier::kKept) {
    for (const FoldedFinding& folded : findings_) Write(folded);
    return;
  }
  std::string text;
  for (const FoldedFinding& folded : findings_) {
    text += RecordLine(RecordType::kFinding, Fields(folded)) + "\n";
  }
  WriteWholeFile(path_, text);
}

}  // namespace assay
