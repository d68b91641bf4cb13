// The files of a checkpoint in the style of Hugging Face: config.json, and tensors in one
// safetensors file or in those that model.safetensors.index.json names. Everything is hostile
// input.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "reference/json_document.h"
#include "reference/safetensors.h"

namespace assay {

class CheckpointFiles {
 public:
  // A folder, or one safetensors file. Throws UsageError that names the file and the rule.
  explicit CheckpointFiles(const std::filesystem::path& where);

  const std::vector<std::string>& Names() const { return names_; }  // of all tensors, sorted
  bool Has(const std::string& tensor) const;
  // Maps the tensor's file at the first use. Throws UsageError where the tensor is absent.
  const TensorView& Get(const std::string& tensor) const;

  // A field of config.json or of its text_config; null if there is none.
  Json Config(const std::string& field) const;
  // quantization_config of config.json, or `quantization` of hf_quant_config.json; null: neither.
  Json Quantisation() const;
  std::string Where() const { return where_.string(); }

 private:
  void ReadIndex(const std::filesystem::path& file);
  void ReadSingle(const std::filesystem::path& file);
  const Safetensors& Open(const std::string& file) const;

  std::filesystem::path where_, folder_;
  Json config_, hf_quant_config_;
  std::map<std::string, std::string> file_of_;  // tensor -> file
  std::vector<std::string> names_;
  mutable std::map<std::string, Safetensors> open_;
};

}  // namespace assay
