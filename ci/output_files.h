// Files that a command leaves behind.
#pragma once

#include <string>
#include <string_view>

namespace assay {

// Throws EnvironmentError if the folder cannot be made.
void MakeFolder(const std::string& path);

// Writes beside the file, then renames: a reader sees the old or the new text. Throws
// EnvironmentError (full disk, folder not writable).
void WriteWholeFile(const std::string& path, std::string_view text);

}  // namespace assay
