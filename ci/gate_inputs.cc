#include "ci/gate_inputs.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "ci/data_dir.h"
#include "fuzz/corpus.h"
#include "reference/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

void AddCorpus(const std::string& file, std::vector<Case>& cases) {
  const std::string path = DataPath(file);
  if (!fs::is_regular_file(path)) throw UsageError("'" + path + "' is no regular file");
  for (const CorpusCase& one : ReadCorpusFile(path)) cases.push_back(one.c);
}

std::string GoldenFolder(const std::string& folder) {
  std::string path = DataPath(folder);
  std::error_code error;
  const fs::directory_iterator entries(path, error);
  if (error) {
    throw UsageError(fmt::format("folder '{}' cannot be read: {}", path, error.message()));
  }
  if (entries == fs::directory_iterator()) throw UsageError("folder '" + path + "' is empty");
  return path;
}

template <typename Read>
void UnderKey(const char* key, const std::vector<std::string>& names, const Read& read) {
  for (const std::string& name : names) {
    try {
      read(name);
    } catch (const UsageError& error) {
      throw UsageError(fmt::format("policy key {}: {}", key, error.what()));
    }
  }
}

}  // namespace

GateInputs ReadGateInputs(const GatePolicy& policy) {
  GateInputs inputs;
  UnderKey("corpus.files", policy.corpus_files,
           [&](const std::string& name) { AddCorpus(name, inputs.corpus); });
  UnderKey("goldens.folders", policy.golden_folders,
           [&](const std::string& name) { inputs.golden_folders.push_back(GoldenFolder(name)); });
  return inputs;
}

}  // namespace assay
