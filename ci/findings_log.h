// The findings of a campaign, one per fingerprint, and the file findings.jsonl that keeps them.
// A finding is on disk as soon as it is found; its shrunk form takes its place at the end.
#pragma once

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
  // An empty path keeps no file. An old file of the same name is replaced. Throws EnvironmentError.
  explicit FindingsLog(std::string path);

  // Counts the findings of a failing case; those with a new fingerprint go to the file at once.
  void Add(const Case& c, const Verdict& verdict);
  // Puts the shrunk form in the place of the folded finding with the same fingerprint.
  void Replace(const Finding& finding, const Case& smallest);
  // Writes the file again with the findings as they are now; never leaves half a file.
  void Rewrite() const;

  const std::vector<FoldedFinding>& findings() const { return findings_; }
  const std::string& path() const { return path_; }

 private:
  FoldedFinding* Find(const std::string& fingerprint);

  std::string path_;
  std::vector<FoldedFinding> findings_;  // in the order found
};

}  // namespace assay
