#include "reference/golden.h"

#include <algorithm>
#include <fstream>

#include "reference/error.h"
#include "reference/golden_parts.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

Json ReadJson(const fs::path& file) {
  std::ifstream stream(file);
  if (!stream) throw UsageError(file.string() + ": cannot be read");
  return Json::parse(stream);
}

void Append(std::vector<GoldenResult>& to, std::vector<GoldenResult> from) {
  std::sort(from.begin(), from.end(),
            [](const GoldenResult& a, const GoldenResult& b) { return a.name < b.name; });
  std::move(from.begin(), from.end(), std::back_inserter(to));
}

// Runs one kind of golden if its description is there; what JSON says wrongly names the file.
template <class Evaluate>
void IfThere(const fs::path& file, std::vector<GoldenResult>& results, Evaluate evaluate) {
  if (!fs::exists(file)) return;
  try {
    Append(results, evaluate(file));
  } catch (const Json::exception& error) {
    throw UsageError(file.string() + ": " + error.what());
  }
}

void EvaluateFolder(const fs::path& dir, std::vector<GoldenResult>& results) {
  IfThere(dir / "cases.json", results,
          [&](const fs::path& file) { return LayerGoldens(ReadJson(file), dir); });
  IfThere(dir / "formats.json", results,
          [](const fs::path& file) { return DecodeGoldens(ReadJson(file)); });
  IfThere(dir / "encode.safetensors", results, EncodeGoldens);
  IfThere(dir / "encode_bfloat16.safetensors", results, Bf16Goldens);
  IfThere(dir / "packed.json", results,
          [&](const fs::path& file) { return PackedGoldens(ReadJson(file), dir); });
}

std::vector<fs::path> FoldersOf(const fs::path& dir) {
  std::vector<fs::path> folders{dir};
  for (const fs::directory_entry& entry : fs::directory_iterator(dir))
    if (entry.is_directory()) folders.push_back(entry.path());
  std::sort(folders.begin() + 1, folders.end());
  return folders;
}

}  // namespace

GoldenResult ExactResult(std::string name, std::vector<std::pair<std::string, double>> differing) {
  GoldenResult result;
  result.name = std::move(name);
  result.tensors = std::move(differing);
  for (const auto& [what, count] : result.tensors) {
    result.error = std::max(result.error, count);
    if (count == 0 || result.outcome == GoldenResult::kFailed) continue;
    result.outcome = GoldenResult::kFailed;
    result.reason = what + ": " + std::to_string(static_cast<long>(count)) + " values differ";
  }
  return result;
}

std::vector<GoldenResult> EvaluateGoldens(const fs::path& dir) {
  if (!fs::is_directory(dir))
    throw UsageError(dir.string() + ": not a folder; name one that holds golden vectors");
  std::vector<GoldenResult> results;
  for (const fs::path& folder : FoldersOf(dir)) EvaluateFolder(folder, results);
  if (results.empty())
    throw UsageError(dir.string() +
                     ": holds no golden vectors (cases.json, formats.json, packed.json)");
  return results;
}

}  // namespace assay
