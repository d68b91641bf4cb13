#include "ci/data_dir.h"

#include <fmt/format.h>

#include <filesystem>

#include "reference/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

fs::path InstalledData() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  return program.parent_path() / ASSAY_DATA_FROM_PROGRAM;
}

}  // namespace

std::string DataPath(const std::string& name) {
  for (const fs::path& root : {InstalledData(), fs::path(ASSAY_SOURCE_DIR)}) {
    if (fs::exists(root / name)) return (root / name).lexically_normal().string();
  }
  throw UsageError(fmt::format("'{}' is neither in {} nor in {}: name the file or folder yourself",
                               name, InstalledData().string(), ASSAY_SOURCE_DIR));
}

}  // namespace assay
