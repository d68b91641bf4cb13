#include "ci/junit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "ci/tally.h"
#include "reports/finding_text.h"

namespace assay {
namespace {

constexpr char32_t kReplacement = 0xFFFD;

struct Decoded {
  char32_t code = kReplacement;
  std::size_t length = 1;
};

// The length that the lead byte of a sequence announces; 0: no lead byte.
std::size_t AnnouncedLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

// Strict UTF-8: a broken sequence is one replacement character a byte.
Decoded Decode(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t length = AnnouncedLength(lead);
  if (length == 0 || length > text.size()) return {};
  constexpr unsigned kLeadBits[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
  char32_t code = lead & kLeadBits[length];
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if ((next & 0xC0) != 0x80) return {};
    code = (code << 6) | (next & 0x3F);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kSmallest[length] || code > 0x10FFFF) return {};
  return {code, length};
}

bool XmlHolds(char32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code != 0x7F && !surrogate && code != 0xFFFE && code != 0xFFFF;
}

std::string Escaped(std::string_view sequence) {
  if (sequence.size() > 1) return std::string(sequence);
  switch (sequence[0]) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '"':
      return "&quot;";
    case '\'':
      return "&apos;";
    case '\r':
      return "&#13;";
    default:
      return std::string(sequence);
  }
}

// Line breaks in an attribute would be read back as spaces.
std::string Attribute(std::string_view text) {
  std::string escaped;
  for (char c : XmlEscape(text)) {
    if (c == '\n') {
      escaped += "&#10;";
    } else if (c == '\t') {
      escaped += "&#9;";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

bool IsSkip(const JunitCase& c) {
  return c.outcome == Outcome::kSkipped || c.outcome == Outcome::kVacuous;
}

std::string Body(const JunitCase& c) {
  if (c.error) return fmt::format("<error message=\"{}\"/>", Attribute(c.message));
  if (c.outcome == Outcome::kFailed) {
    return fmt::format("<failure type=\"{}\" message=\"{}\">{}</failure>", Attribute(c.type),
                       Attribute(c.message), XmlEscape(c.text));
  }
  if (IsSkip(c)) return fmt::format("<skipped message=\"{}\"/>", Attribute(c.message));
  if (c.outcome == Outcome::kRefused) {
    return fmt::format("<properties><property name=\"refused\" value=\"{}\"/></properties>",
                       Attribute(c.message));
  }
  return "";
}

struct Totals {
  std::int64_t tests = 0, failures = 0, errors = 0, skipped = 0;
  double seconds = 0;

  void Add(const JunitCase& c) {
    ++tests;
    errors += c.error;
    failures += !c.error && c.outcome == Outcome::kFailed;
    skipped += !c.error && IsSkip(c);
    seconds += c.seconds;
  }
  std::string Attributes() const {
    return fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3f}\"",
                       tests, failures, errors, skipped, seconds);
  }
};

struct Suite {
  Totals totals;
  std::string body;
};

void AddTo(Suite& suite, const JunitCase& c) {
  suite.totals.Add(c);
  suite.body += fmt::format(
      "    <testcase classname=\"assay.{}\" name=\"{}\" time=\"{:.3f}\">{}</testcase>\n",
      Attribute(c.suite), Attribute(c.name), c.seconds, Body(c));
}

std::string ChecksOf(const std::vector<Finding>& findings) {
  std::string checks;
  for (const Finding& finding : findings) {
    if (checks.find(finding.check) == std::string::npos) {
      checks += (checks.empty() ? "" : " ") + finding.check;
    }
  }
  return checks;
}

}  // namespace

std::string XmlEscape(std::string_view text) {
  std::string escaped;
  while (!text.empty()) {
    const auto [code, length] = Decode(text);
    const bool kept = XmlHolds(code) && !(length == 1 && code == kReplacement);
    escaped += kept ? Escaped(text.substr(0, length)) : "\xEF\xBF\xBD";
    text.remove_prefix(length);
  }
  return escaped;
}

JunitCase MakeJunitCase(const std::string& suite, const Case& c, const Verdict& verdict) {
  JunitCase result{suite, ToLine(c), verdict.outcome, 0, ChecksOf(verdict.findings), "", ""};
  for (const auto& [stage, seconds] : verdict.seconds) result.seconds += seconds;
  result.message = verdict.findings.empty() ? verdict.reason : verdict.findings.front().summary;
  for (const Finding& finding : verdict.findings) result.text += FindingText(finding) + "\n";
  return result;
}

std::string JunitXml(const std::vector<JunitCase>& cases) {
  Totals all;
  std::map<std::string, Suite> suites;
  for (const JunitCase& c : cases) {
    all.Add(c);
    AddTo(suites[c.suite], c);
  }
  std::string xml =
      fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"assay\" {}>\n",
                  all.Attributes());
  for (const auto& [name, suite] : suites) {
    xml += fmt::format("  <testsuite name=\"{}\" {}>\n{}  </testsuite>\n", Attribute(name),
                       suite.totals.Attributes(), suite.body);
  }
  return xml + "</testsuites>\n";
}

}  // namespace assay
