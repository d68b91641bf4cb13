#include "ci/junit.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace assay {
namespace {

JunitCase Named(const std::string& name, Outcome outcome = Outcome::kPassed) {
  return {
      "fuzz", name, outcome, 0.5, "memory", "first line\n\"quoted\" <&>", "body ]]> & </failure>"};
}

bool HasXmllint() { return std::system("command -v xmllint >/dev/null 2>&1") == 0; }

// What xmllint says of the text: its exit status, 0 for well-formed.
int Xmllint(const std::string& xml) {
  const auto path =
      std::filesystem::temp_directory_path() / ("assay_junit_" + std::to_string(getpid()) + ".xml");
  std::ofstream(path, std::ios::binary) << xml;
  const int status = std::system(("xmllint --noout " + path.string() + " >/dev/null 2>&1").c_str());
  std::filesystem::remove(path);
  return status;
}

TEST(JunitTest, MarkupIsEscaped) {
  EXPECT_EQ(XmlEscape("a<b>&\"c'"), "a&lt;b&gt;&amp;&quot;c&apos;");
}

TEST(JunitTest, BytesThatXmlCannotHoldAreReplaced) {
  EXPECT_EQ(XmlEscape(std::string_view("\0", 1)), "\xEF\xBF\xBD");
  EXPECT_EQ(XmlEscape("\x1b[31m"), "\xEF\xBF\xBD[31m");
  EXPECT_EQ(XmlEscape("\xff"), "\xEF\xBF\xBD");                                  // no UTF-8
  EXPECT_EQ(XmlEscape("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");                  // overlong
  EXPECT_EQ(XmlEscape("\xED\xA0\x80").find("\xED\xA0"), std::string::npos);      // surrogate
  EXPECT_EQ(XmlEscape("\xEF\xBF\xBE").find("\xEF\xBF\xBE"), std::string::npos);  // U+FFFE
}

TEST(JunitTest, ValidTextIsKept) {
  EXPECT_EQ(XmlEscape("tab\tline\n\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "tab\tline\n\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
}

TEST(JunitTest, CountsFollowTheOutcomes) {
  const std::string xml =
      JunitXml({Named("a"), Named("b", Outcome::kFailed), Named("c", Outcome::kSkipped),
                Named("d", Outcome::kVacuous), Named("e", Outcome::kRefused)});
  EXPECT_NE(xml.find("<testsuites name=\"assay\" tests=\"5\" failures=\"1\" errors=\"0\" "
                     "skipped=\"2\" time=\"2.500\">"),
            std::string::npos)
      << xml;
}

TEST(JunitTest, AnErrorIsNoFailure) {
  JunitCase interrupted = Named("gate interrupted after 3 of 9 cases", Outcome::kFailed);
  interrupted.error = true;
  const std::string xml = JunitXml({Named("a"), interrupted});
  EXPECT_NE(xml.find("tests=\"2\" failures=\"0\" errors=\"1\" skipped=\"0\""), std::string::npos)
      << xml;
  EXPECT_NE(xml.find("<error message="), std::string::npos) << xml;
}

TEST(JunitTest, LineBreaksInAttributesSurvive) {
  const std::string xml = JunitXml({Named("a", Outcome::kFailed)});
  EXPECT_NE(xml.find("message=\"first line&#10;&quot;quoted&quot; &lt;&amp;&gt;\""),
            std::string::npos)
      << xml;
}

TEST(JunitTest, XmllintTakesHostileNames) {
  if (!HasXmllint()) GTEST_SKIP() << "xmllint is not installed";
  EXPECT_NE(Xmllint("<a><b></a>"), 0) << "xmllint must be able to say no";
  std::vector<JunitCase> cases;
  for (const char* name : {"<script>alert(1)</script>", "\"'&&amp;", "]]>", "--><!--", "\x01\x02",
                           "\xff\xfe", "<?xml?>", "&#0;", ""}) {
    for (Outcome outcome : {Outcome::kPassed, Outcome::kFailed, Outcome::kSkipped}) {
      cases.push_back(Named(name, outcome));
      cases.back().suite = cases.back().message = cases.back().text = name;
    }
  }
  EXPECT_EQ(Xmllint(JunitXml(cases)), 0);
}

RC_GTEST_PROP(JunitTest, EscapedTextHoldsNoMarkupAndNoControlBytes, (const std::string& text)) {
  for (unsigned char c : XmlEscape(text)) {
    RC_ASSERT(c != '<' && c != '>' && c != '"');
    RC_ASSERT(c >= 0x20 || c == '\t' || c == '\n');
  }
}

}  // namespace
}  // namespace assay
