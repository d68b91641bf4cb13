// The findings of a campaign, one per fingerprint, and the file findings.jsonl that keeps them.
// A finding is on disk as soon as it is found; its shrunk form comes at the end.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "fuzz/case.h"

namespace assay {

struct FoldedFinding {
  Finding finding;         // of `smallest`
  Case first;              // where it was seen first
  Case smallest;           // the shortest line that still shows it
  std::int64_t cases = 1;  // failing cases with this fingerprint
};

class FindingsLog {
 public:
  // What becomes of an old file of the same name.
  enum class Earlier { kReplaced, kKept };

  // An empty path keeps no file. Throws EnvironmentError and RecordError.
  explicit FindingsLog(std::string path, Earlier earlier = Earlier::kReplaced);

  // Counts the findings of a failing case; those with a new fingerprint go to the file at once.
  void Add(const Case& c, const Verdict& verdict);
  // Puts the shrunk form in the place of the folded finding with the same fingerprint.
  void Replace(const Finding& finding, const Case& smallest);
  // Puts the findings as they are now into the file: kReplaced writes it again, never half of it;
  // kKept only appends what changed, so that a fingerprint's last line is the one to read.
  void Finish();
  // Fingerprints that are in the file.
  std::size_t kept() const { return written_.size(); }

  const std::vector<FoldedFinding>& findings() const { return findings_; }
  const std::string& path() const { return path_; }

 private:
  FoldedFinding* Find(const std::string& fingerprint);

  void Write(const FoldedFinding& folded);

  std::string path_;
  Earlier earlier_;
  std::map<std::string, std::string> written_;  // fingerprint -> its last line in the file
  std::vector<FoldedFinding> findings_;         // in the order found
};

}  // namespace assay
