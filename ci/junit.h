// JUnit XML, as CI systems read it: testsuites / testsuite / testcase with error, failure or
// skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ci/exit_code.h"
#include "fuzz/case.h"

namespace assay {

struct JunitCase {
  std::string suite;  // corpus, fuzz, faults, goldens, floors
  std::string name;
  Outcome outcome = Outcome::kPassed;  // a refusal is a pass; vacuous is a skip
  double seconds = 0;
  std::string type;     // of a failure: the checks that failed
  std::string message;  // one line: of a failure or a skip
  std::string text;     // the whole finding
  bool error = false;   // no verdict at all: the run itself ended before its end
};

// One case's entry; a failure holds the text of all findings.
JunitCase MakeJunitCase(const std::string& suite, const Case& c, const Verdict& verdict);

// Escapes for XML 1.0 content and attributes. Bytes that XML cannot hold (control bytes, broken
// UTF-8, U+FFFE, U+FFFF) become U+FFFD.
std::string XmlEscape(std::string_view text);

std::string JunitXml(const std::vector<JunitCase>& cases);

}  // namespace assay
