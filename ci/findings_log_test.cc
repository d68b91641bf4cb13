#include "ci/findings_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ci/output_files.h"
#include "reference/error.h"
#include "reports/record.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

class FindingsLogTest : public testing::Test {
 protected:
  FindingsLogTest() { fs::create_directories(folder_); }
  ~FindingsLogTest() override { fs::remove_all(folder_); }

  std::vector<nlohmann::json> Records() const {
    std::ifstream file(path_);
    std::vector<nlohmann::json> records;
    for (std::string line; std::getline(file, line);)
      records.push_back(nlohmann::json::parse(line));
    return records;
  }

  fs::path folder_ = fs::temp_directory_path() / ("assay_log_" + std::to_string(getpid()));
  std::string path_ = (folder_ / "findings.jsonl").string();
};

Case WithSeed(std::uint64_t seed) {
  Case c;
  c.problem.seed = seed;
  return c;
}

Verdict FailedBy(const std::string& check, const std::string& summary = "") {
  Verdict verdict;
  verdict.outcome = Outcome::kFailed;
  Finding& finding = verdict.findings.emplace_back();
  finding.check = check;
  finding.path = "k3";
  finding.summary = summary;
  return verdict;
}

TEST_F(FindingsLogTest, AFindingIsOnDiskBeforeTheNextCase) {
  FindingsLog log(path_);
  EXPECT_TRUE(Records().empty());
  log.Add(WithSeed(1), FailedBy("memory"));
  ASSERT_EQ(Records().size(), 1u);
  EXPECT_EQ(Records()[0].at("type"), "finding");
  EXPECT_EQ(Records()[0].at("check"), "memory");
}

TEST_F(FindingsLogTest, TheSameFingerprintIsFoldedAndCounted) {
  FindingsLog log(path_);
  log.Add(WithSeed(1), FailedBy("memory"));
  log.Add(WithSeed(2), FailedBy("memory"));
  log.Add(WithSeed(3), FailedBy("numeric"));
  ASSERT_EQ(log.findings().size(), 2u);
  EXPECT_EQ(log.findings()[0].cases, 2);
  EXPECT_EQ(log.findings()[0].first, WithSeed(1));
}

TEST_F(FindingsLogTest, FinishingKeepsTheShrunkForm) {
  FindingsLog log(path_);
  log.Add(WithSeed(1), FailedBy("memory", "long"));
  log.Replace(FailedBy("memory", "short").findings[0], WithSeed(9));
  log.Finish();
  ASSERT_EQ(Records().size(), 1u);
  EXPECT_EQ(Records()[0].at("summary"), "short");
  EXPECT_EQ(log.findings()[0].smallest, WithSeed(9));
}

TEST_F(FindingsLogTest, AnOldFileIsReplaced) {
  std::ofstream(path_) << "old\n";
  FindingsLog log(path_);
  EXPECT_TRUE(Records().empty());
}

TEST_F(FindingsLogTest, EarlierFindingsCanBeKeptAndTheLastLineIsTheShrunkOne) {
  for (int run = 0; run < 2; ++run) {
    FindingsLog log(path_, FindingsLog::Earlier::kKept);
    log.Add(WithSeed(1), FailedBy("memory", "long"));
    log.Add(WithSeed(2), FailedBy("numeric", "as it was"));
    log.Replace(FailedBy("memory", "short").findings[0], WithSeed(9));
    log.Finish();
    log.Finish();  // says nothing twice
    EXPECT_EQ(log.kept(), 2u);
  }
  const std::vector<nlohmann::json> records = Records();
  ASSERT_EQ(records.size(), 6u);
  EXPECT_EQ(records[3].at("summary"), "long");
  EXPECT_EQ(records[5].at("summary"), "short");
}

TEST_F(FindingsLogTest, AFindingThatTheDiskRefusesIsNotCountedAsKept) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  FindingsLog log("/dev/full", FindingsLog::Earlier::kKept);
  EXPECT_THROW(log.Add(WithSeed(1), FailedBy("memory")), RecordError);
  EXPECT_EQ(log.findings().size(), 1u);
  EXPECT_EQ(log.kept(), 0u);
}

TEST_F(FindingsLogTest, AFolderThatIsNotThereIsAnEnvironmentError) {
  EXPECT_THROW(FindingsLog(path_ + "/no/such/folder"), EnvironmentError);
}

TEST_F(FindingsLogTest, AFileInTheFoldersPlaceIsAnEnvironmentError) {
  std::ofstream(path_) << "x";
  EXPECT_THROW(MakeFolder(path_), EnvironmentError);
}

}  // namespace
}  // namespace assay
