#include "reports/finding_text.h"

#include <algorithm>

namespace assay {

namespace {

std::string Safe(std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else {
      out += std::string("\\x") + kDigits[byte >> 4] + kDigits[byte & 15];
    }
  }
  return out;
}

std::string Headline(const Finding& finding) {
  std::string line = finding.check + ": " + finding.error_class + " on path " + finding.path;
  if (!finding.kernel.empty()) line += ", kernel " + finding.kernel;
  return Safe(line) + "\n";
}

}  // namespace

std::string FindingText(const Finding& finding) {
  auto rows = finding.evidence;
  rows.emplace_back("fingerprint", finding.Fingerprint());
  rows.emplace_back("case", finding.case_line);
  rows.emplace_back("replay", finding.replay);
  std::size_t width = 0;
  for (const auto& [name, value] : rows) width = std::max(width, Safe(name).size());
  std::string text = Headline(finding);
  if (!finding.summary.empty()) text += "  " + Safe(finding.summary) + "\n";
  for (const auto& [name, value] : rows) {
    if (value.empty()) continue;
    const std::string shown = Safe(name);
    text += "  " + shown + std::string(width - shown.size(), ' ') + "  " + Safe(value) + "\n";
  }
  return text;
}

}  // namespace assay
