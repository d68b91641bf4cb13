#include "reports/finding.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <sstream>

#include "reports/finding_json.h"
#include "reports/finding_text.h"
#include "reports/record.h"
#include "reports/record_reader.h"

namespace assay {
namespace {

Finding Example() {
  Finding finding;
  finding.check = "memory";
  finding.path = "k3";
  finding.kernel = "gate_up_t_batch3";
  finding.error_class = "read_outside";
  finding.summary = "reads past the scales";
  finding.evidence = {{"tensor", "gate[5].scale"}, {"byte", "1024 of 1024"}};
  finding.case_line = "path=k3 format=mxfp4 layout=transposed rows=3";
  finding.replay = "assay replay 'path=k3 format=mxfp4 layout=transposed rows=3'";
  return finding;
}

TEST(Fingerprint, IsTheSameOnEveryMachineAndInEveryVersion) {
  // FNV-1a over "6:memory2:k316:gate_up_t_batch312:read_outside", computed apart from this code.
  EXPECT_EQ(Example().Fingerprint(), "874be2b695b46824");
}

TEST(Fingerprint, NamesTheFaultAndNotTheCase) {
  Finding other = Example();
  other.case_line = "path=k3 format=mxfp4 layout=transposed rows=3 seed=9";
  other.summary = "another summary";
  other.evidence.clear();
  EXPECT_EQ(other.Fingerprint(), Example().Fingerprint());
}

TEST(Fingerprint, TellsCheckPathKernelAndClassApart) {
  for (std::string Finding::*member :
       {&Finding::check, &Finding::path, &Finding::kernel, &Finding::error_class}) {
    Finding other = Example();
    other.*member += "x";
    EXPECT_NE(other.Fingerprint(), Example().Fingerprint());
  }
}

TEST(Fingerprint, DoesNotMoveLettersBetweenFields) {
  Finding moved = Example();
  moved.check = "memoryk";
  moved.path = "3";
  EXPECT_NE(moved.Fingerprint(), Example().Fingerprint());
}

TEST(FindingText, EndsWithTheCaseAndTheCommand) {
  EXPECT_EQ(FindingText(Example()),
            "memory: read_outside on path k3, kernel gate_up_t_batch3\n"
            "  reads past the scales\n"
            "  tensor       gate[5].scale\n"
            "  byte         1024 of 1024\n"
            "  fingerprint  874be2b695b46824\n"
            "  case         path=k3 format=mxfp4 layout=transposed rows=3\n"
            "  replay       assay replay 'path=k3 format=mxfp4 layout=transposed rows=3'\n");
}

TEST(FindingText, ShowsControlBytesInsteadOfSendingThem) {
  Finding hostile = Example();
  hostile.kernel = "k\x1b[2J\n";
  const std::string text = FindingText(hostile);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("k\\x1b[2J\\x0a"), std::string::npos);
}

bool Equal(const Finding& a, const Finding& b) {
  return a.check == b.check && a.path == b.path && a.kernel == b.kernel &&
         a.error_class == b.error_class && a.summary == b.summary && a.evidence == b.evidence &&
         a.case_line == b.case_line && a.replay == b.replay;
}

// Text of UTF-8: what is not UTF-8 is replaced on purpose when it is written.
rc::Gen<std::string> Utf8() {
  return rc::gen::map(rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127)),
                      [](std::string text) { return text + "\xc3\xbc"; });
}

RC_GTEST_PROP(FindingJson, ComesBackFromItsRecord, ()) {
  Finding finding;
  for (std::string Finding::*member :
       {&Finding::check, &Finding::path, &Finding::kernel, &Finding::error_class, &Finding::summary,
        &Finding::case_line, &Finding::replay}) {
    finding.*member = *Utf8();
  }
  finding.evidence = *rc::gen::container<decltype(finding.evidence)>(rc::gen::pair(Utf8(), Utf8()));
  std::istringstream in(RecordLine(RecordType::kFinding, ToJson(finding)) + "\n");
  const RecordFile file = ReadRecords(in);
  RC_ASSERT(file.records.size() == 1u);
  const auto back = FindingFromJson(file.records[0]);
  RC_ASSERT(back.has_value());
  RC_ASSERT(Equal(*back, finding));
}

TEST(FindingJson, RefusesARecordWithAMissingField) {
  auto record = ToJson(Example());
  record.erase("repro");
  EXPECT_FALSE(FindingFromJson(record));
  EXPECT_FALSE(FindingFromJson(nlohmann::json::array()));
}

}  // namespace
}  // namespace assay
