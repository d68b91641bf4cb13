// Small helpers for one-line messages about text that may be hostile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace assay {

// Printable ASCII only (other bytes as \xNN) and at most 40 characters, so that a message that
// quotes the user's text stays one readable line.
std::string Printable(std::string_view text);

// Insertions, deletions and replacements that turn `a` into `b`.
int EditDistance(std::string_view a, std::string_view b);

// The candidate with the smallest edit distance; the first one wins a tie. `candidates` not empty.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace assay
