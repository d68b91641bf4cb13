#include "reference/golden.h"

#include <algorithm>

#include "reference/error.h"
#include "reference/golden_parts.h"
#include "reference/layer_json.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

// Names and words of a description go to a terminal as one line.
std::string OneLine(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  return text;
}

// "[json.exception.type_error.302] type must be string": the reader wants the second half.
std::string PlainText(const Json::exception& error) {
  const std::string text = error.what();
  const std::size_t end = text.find("] ");
  return OneLine(end == std::string::npos ? text : text.substr(end + 2));
}

void Append(std::vector<GoldenResult>& to, std::vector<GoldenResult> from) {
  for (GoldenResult& result : from) {
    result.name = OneLine(std::move(result.name));
    result.reason = OneLine(std::move(result.reason));
  }
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
  } catch (const std::out_of_range&) {
    throw UsageError(file.string() + ": a tensor of one of its cases is too short");
  } catch (const Json::exception& error) {
    throw UsageError(file.string() + ": " + PlainText(error));
  }
}

// The cases of a description, each with a plain file name in the same folder.
const Json& Cases(const Json& document, const fs::path& file) {
  if (!document.is_object() || !document.contains("cases") || !document.at("cases").is_array())
    throw UsageError(file.string() + ": needs an object with an array \"cases\"");
  for (const Json& entry : document.at("cases")) {
    const std::string name = entry.at("file");
    if (name.empty() || fs::path(name).filename() != name)
      throw UsageError(file.string() + ": file " + ShortJson(name) + " is no plain file name");
  }
  return document.at("cases");
}

// A word that the schema does not list is a feature that is not built, not a broken document.
GoldenResult UnknownWord(const Json& layer, const LayerFault& fault) {
  GoldenResult result;
  result.name = "layer/" + layer.at("name").get<std::string>();
  result.outcome = GoldenResult::kSkipped;
  result.reason = fault.Text();
  return result;
}

std::vector<GoldenResult> CheckedLayers(const fs::path& file) {
  const Json document = ReadJson(file);
  Json known = {{"cases", Json::array()}};
  std::vector<GoldenResult> results;
  for (const Json& layer : Cases(document, file)) {
    const std::vector<LayerFault> faults = LayerFaults(layer);
    const auto broken = std::find_if(faults.begin(), faults.end(),
                                     [](const LayerFault& fault) { return !fault.unknown; });
    const std::string name = ShortJson(layer.at("name"));
    if (broken != faults.end())
      throw UsageError(file.string() + ": case " + name + ": " + broken->Text());
    if (faults.empty())
      known["cases"].push_back(layer);
    else
      results.push_back(UnknownWord(layer, faults.front()));
  }
  Append(results, LayerGoldens(known, file.parent_path()));
  return results;
}

std::vector<GoldenResult> CheckedPacked(const fs::path& file) {
  const Json document = ReadJson(file);
  Cases(document, file);
  return PackedGoldens(document, file.parent_path());
}

void EvaluateFolder(const fs::path& dir, std::vector<GoldenResult>& results) {
  IfThere(dir / "cases.json", results, CheckedLayers);
  IfThere(dir / "formats.json", results,
          [](const fs::path& file) { return DecodeGoldens(ReadJson(file)); });
  IfThere(dir / "encode.safetensors", results, EncodeGoldens);
  IfThere(dir / "encode_bfloat16.safetensors", results, Bf16Goldens);
  IfThere(dir / "packed.json", results, CheckedPacked);
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
