// Evaluates a folder of golden vectors: numbers of other people's code that the reference must
// reproduce. The layout of the folder is described in testdata/goldens/*/README.md.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace assay {

// One layer case, one table of a number format or one packed checkpoint.
struct GoldenResult {
  enum Outcome { kPassed, kFailed, kSkipped };

  std::string name;
  Outcome outcome = kPassed;
  std::string reason;  // of a failure or a skip; one line
  double error = 0;    // the largest of `tensors`
  // Compared tensors with their largest error: layers relative to the tensor's largest value,
  // formats and checkpoints the number of codes or elements that differ.
  std::vector<std::pair<std::string, double>> tensors;
};

// Reads cases.json, formats.json, encode*.safetensors and packed.json of `dir` and of the folders
// directly in it; sorted by name within each. A file that is absent is an absent test. Throws
// UsageError if nothing is there or a description cannot be read.
std::vector<GoldenResult> EvaluateGoldens(const std::filesystem::path& dir);

}  // namespace assay
