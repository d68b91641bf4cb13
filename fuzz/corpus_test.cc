#include "fuzz/corpus.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <sstream>

#include "fuzz/run_case.h"

namespace assay {
namespace {

std::vector<CorpusCase> Read(const std::string& text) {
  std::istringstream in(text);
  return ReadCorpus(in, "x.cases");
}

std::string ErrorOf(const std::string& text) {
  try {
    Read(text);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

constexpr char kLine[] = "path=k3 format=mxfp4 layout=transposed rows=3";

TEST(Corpus, KeepsTheReasonOfACase) {
  const auto cases = Read("# title\n\n# why\n# it is here\n" + std::string(kLine) + "\r\n\n");
  ASSERT_EQ(cases.size(), 1u);
  EXPECT_EQ(cases[0].why, "why it is here");
  EXPECT_EQ(cases[0].line, 5);
  EXPECT_EQ(ToLine(cases[0].c), kLine);
}

TEST(Corpus, NamesFileAndLineOfABadCase) {
  EXPECT_EQ(ErrorOf("\n# why\npath=k9\n").rfind("x.cases:3: case field ", 0), 0u);
  EXPECT_EQ(ErrorOf(kLine), "x.cases:1: no comment above says why; add one that starts with #");
  EXPECT_THROW(ReadCorpusFile("/no/such/file"), UsageError);
}

RC_GTEST_PROP(Corpus, SurvivesRandomText, (const std::string& text)) { ErrorOf("# why\n" + text); }

std::vector<CorpusCase> File(const std::string& name) {
  return ReadCorpusFile(std::string(ASSAY_CORPUS_DIR) + "/" + name + ".cases");
}

TEST(Corpus, EveryShippedFileReadsAndSaysEachCaseOnce) {
  std::set<std::string> seen;
  for (const char* name : {"smoke", "ci", "nightly", "regressions"}) {
    for (const CorpusCase& entry : File(name)) {
      EXPECT_TRUE(seen.insert(ToLine(entry.c)).second) << name << ":" << entry.line;
    }
  }
  EXPECT_GE(File("smoke").size(), 30u);
  EXPECT_GE(File("ci").size(), 80u);
}

// A comment that begins with "refused by RULE" or "k3 -> batched" is a promise.
TEST(Corpus, RefusalsNameTheRuleThatTheirCommentNames) {
  const std::string promise = "refused by ";
  int refusals = 0;
  for (const char* name : {"smoke", "ci"}) {
    for (const CorpusCase& entry : File(name)) {
      const Landing landing = Land(entry.c.path, entry.c.problem);
      const bool promised = entry.why.rfind(promise, 0) == 0;
      ASSERT_EQ(landing.Refused(), promised) << name << ":" << entry.line;
      if (!promised) continue;
      ++refusals;
      const std::string rest = entry.why.substr(promise.size());
      EXPECT_EQ(rest.substr(0, rest.find(':')), landing.decisions.back().rule)
          << name << ":" << entry.line;
    }
  }
  EXPECT_GE(refusals, 10);
}

TEST(Corpus, SmokePasses) {
  for (const CorpusCase& entry : File("smoke")) {
    const Verdict verdict = RunCase(entry.c);
    const bool fine = verdict.outcome == Outcome::kPassed || verdict.outcome == Outcome::kRefused;
    EXPECT_TRUE(fine) << "smoke:" << entry.line << " " << verdict.reason
                      << (verdict.findings.empty() ? "" : verdict.findings[0].summary);
  }
}

}  // namespace
}  // namespace assay
