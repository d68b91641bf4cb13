#include "oracle/ledger_check.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "oracle/scripted_case.h"

namespace assay {
namespace {

using Evidence = std::vector<std::pair<std::string, std::string>>;

// Every tensor of the built experts, read as the ids of MakeScriptedRun need: experts 1, 2 and 5.
RunRecord CompleteRun(const ScriptedCase& c, std::uint8_t flag = 1) {
  RunRecord run = MakeScriptedRun(c.layer.problem);
  run.has_ledger = true;
  for (const int expert : {1, 2, 5}) {
    const std::string at = "[" + std::to_string(expert) + "].scale";
    // hidden 64 and inter 32: 32 rows * 2 groups, and 64 rows * 1 group.
    for (const auto& [projection, name] : {std::pair{Projection::kGate, "gate_t"},
                                           {Projection::kUp, "up_t"},
                                           {Projection::kDown, "down_t"}})
      run.scale_reads.push_back(
          {projection, expert, name + at, std::vector<std::uint8_t>(64, flag)});
  }
  return run;
}

TEST(LedgerCheck, PassesARunThatReadEveryNeededByte) {
  const ScriptedCase c = MakeScriptedCase();
  const LedgerResult result = CheckLedger(c.context(), CompleteRun(c));
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.compared, 3 * 3 * 64);
}

TEST(LedgerCheck, NamesTheFirstByteThatWasNeverRead) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = CompleteRun(c);
  ScaleReads& gate5 = run.scale_reads[6];
  for (int row = 17; row < 32; ++row) gate5.read[32 + row] = 0;  // the tail of group 1
  const auto findings = CheckLedger(c.context(), run).findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, "ownership");
  EXPECT_EQ(findings[0].error_class, "scale_never_read");
  EXPECT_EQ(findings[0].evidence,
            (Evidence{{"tensor", "gate_t[5].scale"},
                      {"byte", "49"},
                      {"extent", "64"},
                      {"owner", "expert 5 gate row 17 group 1 (columns 32..63)"},
                      {"bytes_in_tensor", "15 of 64"},
                      {"bytes_in_all", "15"},
                      {"tensors", "1"}}));
}

TEST(LedgerCheck, FindsReadsOfABuiltExpertThatTheseIdsDoNotNeed) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = CompleteRun(c);
  run.ids = {5, 1, 1, 5};  // expert 2 is not needed now
  for (ScaleReads& reads : run.scale_reads)
    if (reads.expert == 2) std::fill(reads.read.begin(), reads.read.end(), 0);
  EXPECT_TRUE(CheckLedger(c.context(), run).findings.empty());
  run.scale_reads[4].read[33] = 1;  // up_t[2]
  const auto findings = CheckLedger(c.context(), run).findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "scale_not_needed");
  EXPECT_EQ(EvidenceOf(findings[0], "tensor"), "up_t[2].scale");
  EXPECT_EQ(EvidenceOf(findings[0], "byte"), "33");
  EXPECT_EQ(EvidenceOf(findings[0], "owner"), "expert 2 up row 1 group 1 (columns 32..63)");
}

TEST(LedgerCheck, DoesNotTakeAMissingTensorForARead) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = CompleteRun(c);
  run.scale_reads.erase(run.scale_reads.begin() + 8);  // down_t[5]
  const auto findings = CheckLedger(c.context(), run).findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(EvidenceOf(findings[0], "bytes_in_tensor"), "64 of 64");
  run.scale_reads.clear();
  EXPECT_EQ(EvidenceOf(CheckLedger(c.context(), run).findings.at(0), "bytes_in_all"), "576");
}

TEST(LedgerCheck, NeedsTheSharedExpertToo) {
  ScriptedCase c = MakeScriptedCase();
  c.layer.problem.shared = Format::kMxfp4;
  c.layer.shared.emplace();
  const auto findings = CheckLedger(c.context(), CompleteRun(c)).findings;
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(EvidenceOf(findings[0], "tensor"), "shared expert gate scales");
  EXPECT_EQ(EvidenceOf(findings[0], "bytes_in_all"), "192");
}

TEST(LedgerCheck, LooksAtNoFormatWithoutScales) {
  ScriptedCase c = MakeScriptedCase();
  c.layer.problem.format = Format::kBf16;
  RunRecord run = MakeScriptedRun(c.layer.problem);
  const LedgerResult result = CheckLedger(c.context(), run);
  EXPECT_TRUE(result.findings.empty());
  EXPECT_EQ(result.compared, 0);
}

TEST(LedgerCheck, TakesAScaleAsReadFromEitherCopyOfAHybridLayer) {
  ScriptedCase c = MakeScriptedCase();
  c.layer.problem.layout = Layout::kHybrid;
  RunRecord run = CompleteRun(c);
  // gate[5] row-major beside gate_t[5]: scale (row 17, group 1) is byte 35 of one, 49 of the other.
  run.scale_reads[6].read[49] = 0;
  ScaleReads row_major{Projection::kGate, 5, "gate[5].scale", std::vector<std::uint8_t>(64, 0)};
  run.scale_reads.push_back(row_major);
  EXPECT_EQ(CheckLedger(c.context(), run).findings.size(), 1u);
  run.scale_reads.back().read[35] = 1;
  EXPECT_TRUE(CheckLedger(c.context(), run).findings.empty());
}

RC_GTEST_PROP(LedgerCheck, FindsAnySingleByteThatIsLeftOut, ()) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = CompleteRun(c);
  auto& reads = run.scale_reads[*rc::gen::inRange<std::size_t>(0, run.scale_reads.size())];
  const int byte = *rc::gen::inRange(0, 64);
  reads.read[byte] = 0;
  const auto findings = CheckLedger(c.context(), run).findings;
  RC_ASSERT(findings.size() == 1u);
  RC_ASSERT(EvidenceOf(findings[0], "tensor") == reads.tensor);
  RC_ASSERT(EvidenceOf(findings[0], "byte") == std::to_string(byte));
}

}  // namespace
}  // namespace assay
