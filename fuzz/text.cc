#include "fuzz/text.h"

#include <algorithm>
#include <numeric>

namespace assay {

namespace {

constexpr std::size_t kQuoted = 40;

std::string Escaped(char c) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  if (byte >= 0x20 && byte < 0x7f) return std::string(1, c);
  return std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, kQuoted)) out += Escaped(c);
  if (text.size() > kQuoted) out += "... (" + std::to_string(text.size()) + " bytes)";
  return out;
}

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j + 1] + 1, row[j] + 1});
    }
  }
  return row[b.size()];
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string_view head = word.substr(0, 64);  // no candidate is longer; keeps the cost small
  return *std::min_element(candidates.begin(), candidates.end(), [&](const auto& a, const auto& b) {
    return EditDistance(head, a) < EditDistance(head, b);
  });
}

}  // namespace assay
