#include "ci/output_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "reference/error.h"

namespace assay {

namespace fs = std::filesystem;

void MakeFolder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error || !fs::is_directory(path)) {
    throw EnvironmentError(fmt::format("folder '{}' cannot be made ({}): choose another with --out",
                                       path, error ? error.message() : "a file is in its place"));
  }
}

void WriteWholeFile(const std::string& path, std::string_view text) {
  const std::string beside = path + ".tmp";
  std::ofstream file(beside, std::ios::binary);
  file << text << std::flush;
  std::error_code error;
  if (file) fs::rename(beside, path, error);
  if (!file || error) {
    fs::remove(beside, error);
    throw EnvironmentError(fmt::format(
        "file '{}' cannot be written: free space or choose another folder with --out", path));
  }
}

}  // namespace assay
