#include "reference/checkpoint_files.h"

#include "reference/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

Json ReadObjectIfThere(const fs::path& file) {
  if (!fs::exists(file)) return Json::object();
  Json document = ReadJson(file);
  if (!document.is_object()) throw UsageError(file.string() + ": is no JSON object");
  return document;
}

// The only safetensors file of a folder without an index.
fs::path SingleFile(const fs::path& folder) {
  if (fs::exists(folder / "model.safetensors")) return folder / "model.safetensors";
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  if (files.size() != 1)
    throw UsageError(folder.string() + ": holds " + std::to_string(files.size()) +
                     " safetensors files and no model.safetensors.index.json; one of both is "
                     "needed");
  return files[0];
}

}  // namespace

CheckpointFiles::CheckpointFiles(const fs::path& where) : where_(where) {
  const bool folder = fs::is_directory(where);
  folder_ = folder ? where : where.parent_path();
  if (!folder && !fs::exists(where))
    throw UsageError(where.string() + ": no such folder or file; name a checkpoint's folder");
  config_ = ReadObjectIfThere(folder_ / "config.json");
  hf_quant_config_ = ReadObjectIfThere(folder_ / "hf_quant_config.json");
  const fs::path index = folder_ / "model.safetensors.index.json";
  if (folder && fs::exists(index))
    ReadIndex(index);
  else
    ReadSingle(folder ? SingleFile(folder_) : where);
  for (const auto& [tensor, file] : file_of_) names_.push_back(tensor);
}

void CheckpointFiles::ReadIndex(const fs::path& file) {
  const Json index = ReadJson(file);
  if (!index.is_object() || !index.contains("weight_map") || !index.at("weight_map").is_object())
    throw UsageError(file.string() + ": needs an object \"weight_map\"");
  for (const auto& [tensor, name] : index.at("weight_map").items()) {
    if (!name.is_string() || name.get<std::string>().empty() ||
        fs::path(name.get<std::string>()).filename() != name.get<std::string>())
      throw UsageError(file.string() + ": tensor \"" + tensor + "\": " + ShortJson(name) +
                       " is no plain file name");
    file_of_[tensor] = name;
  }
}

void CheckpointFiles::ReadSingle(const fs::path& file) {
  const std::string name = file.filename().string();
  for (const auto& [tensor, view] : Open(name).Tensors()) file_of_[tensor] = name;
}

const Safetensors& CheckpointFiles::Open(const std::string& file) const {
  const auto found = open_.find(file);
  if (found != open_.end()) return found->second;
  return open_.emplace(file, Safetensors::Open(folder_ / file)).first->second;
}

bool CheckpointFiles::Has(const std::string& tensor) const { return file_of_.contains(tensor); }

const TensorView& CheckpointFiles::Get(const std::string& tensor) const {
  const auto found = file_of_.find(tensor);
  if (found == file_of_.end()) throw UsageError(Where() + ": tensor \"" + tensor + "\" is absent");
  return Open(found->second).Get(tensor);
}

Json CheckpointFiles::Config(const std::string& field) const {
  if (config_.contains(field)) return config_.at(field);
  const Json text = config_.value("text_config", Json());
  return text.is_object() ? text.value(field, Json()) : Json();
}

Json CheckpointFiles::Quantisation() const {
  const Json own = Config("quantization_config");
  return own.is_null() ? hf_quant_config_.value("quantization", Json()) : own;
}

}  // namespace assay
