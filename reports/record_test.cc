#include "reports/record.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "reports/environment.h"
#include "reports/record_reader.h"

namespace assay {
namespace {

using nlohmann::json;

class RecordWriterTest : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "assay_record_" + std::to_string(getpid()) + ".jsonl";
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  std::string path_;
};

TEST(RecordLine, PutsSchemaAndTypeInFront) {
  EXPECT_EQ(RecordLine(RecordType::kCheckResult, {{"a", 1}}),
            R"({"schema":1,"type":"check_result","a":1})");
}

TEST(RecordLine, SurvivesBytesThatAreNoUtf8AndNumbersThatAreNone) {
  const std::string line = RecordLine(
      RecordType::kPoint, {{"a", "\xff"}, {"b", std::numeric_limits<double>::quiet_NaN()}});
  EXPECT_EQ(line, "{\"schema\":1,\"type\":\"point\",\"a\":\"\xef\xbf\xbd\",\"b\":null}");
}

TEST_F(RecordWriterTest, AppendsToWhatIsThere) {
  for (int run = 0; run < 2; ++run) {
    RecordWriter writer(path_);
    writer.Append(RecordType::kRun, {{"number", run}});
    writer.Close();
  }
  const RecordFile file = ReadRecordFile(path_);
  ASSERT_EQ(file.records.size(), 2u);
  EXPECT_EQ(file.records[0]["number"], 0);
  EXPECT_EQ(file.records[1]["number"], 1);
  EXPECT_TRUE(file.problem_counts.empty());
}

TEST_F(RecordWriterTest, StartsANewLineAfterATornOne) {
  std::ofstream(path_) << R"({"schema":1,"type":"run","number":0})"
                       << "\n"
                       << R"({"schema":1,"ty)";
  RecordWriter writer(path_);
  writer.Append(RecordType::kRun, {{"number", 1}});
  writer.Append(RecordType::kRun, {{"number", 2}});
  writer.Close();
  const RecordFile file = ReadRecordFile(path_);
  EXPECT_EQ(file.records.size(), 3u);
  EXPECT_EQ(file.problem_counts, (std::map<std::string, std::int64_t>{{"not_json", 1}}));
}

TEST(RecordWriter, NamesPathAndReasonOfAFullDisk) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  RecordWriter writer("/dev/full");
  try {
    writer.Append(RecordType::kRun, {});
    FAIL() << "a full disk was not noticed";
  } catch (const RecordError& error) {
    EXPECT_EQ(std::string(error.what()),
              "record /dev/full: cannot be written: No space left on device; free or name another "
              "place for it");
  }
}

TEST(RecordWriter, NamesAFolderThatIsNotThere) {
  try {
    RecordWriter writer("/no/such/folder/x.jsonl");
    FAIL() << "a missing folder was not noticed";
  } catch (const RecordError& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/folder/x.jsonl"), std::string::npos);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

// A file size limit stops a write in the middle of a line, as a full disk does.
TEST_F(RecordWriterTest, KeepsEarlierRecordsWhenTheDiskFillsInsideALine) {
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  RecordWriter writer(path_);
  writer.Append(RecordType::kRun, {{"number", 0}});
  rlimit small = before;
  small.rlim_cur = 100;
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(writer.Append(RecordType::kRun, {{"text", std::string(500, 'x')}}), RecordError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  writer.Append(RecordType::kRun, {{"number", 1}});
  writer.Close();
  const RecordFile file = ReadRecordFile(path_);
  ASSERT_EQ(file.records.size(), 2u);
  EXPECT_EQ(file.records[1]["number"], 1);
  EXPECT_EQ(file.problem_counts, (std::map<std::string, std::int64_t>{{"not_json", 1}}));
}

RecordFile Read(const std::string& text) {
  std::istringstream in(text);
  return ReadRecords(in);
}

std::string OnlyProblem(const std::string& text) {
  const RecordFile file = Read(text);
  return file.records.empty() && file.problems.size() == 1 ? file.problems[0].kind : "several";
}

TEST(RecordReader, CountsWhatItCannotUseByKind) {
  EXPECT_EQ(OnlyProblem("hello\n"), "not_json");
  EXPECT_EQ(OnlyProblem(R"({"schema":1,"ty)"), "torn_last_line");
  EXPECT_EQ(OnlyProblem("[1]\n"), "not_a_record");
  EXPECT_EQ(OnlyProblem(R"({"type":"run"})"), "not_a_record");
  EXPECT_EQ(OnlyProblem(R"({"schema":1})"), "not_a_record");
  EXPECT_EQ(OnlyProblem(R"({"schema":2,"type":"run"})"), "newer_schema");
  EXPECT_EQ(OnlyProblem(R"({"schema":18446744073709551615,"type":"run"})"), "newer_schema");
  EXPECT_EQ(OnlyProblem(R"({"schema":1,"type":"song"})"), "unknown_type");
  EXPECT_EQ(OnlyProblem(std::string(2'000'000, '[')), "too_deep");
  EXPECT_EQ(OnlyProblem(std::string(kMaxRecordLine + 1, 'x') + "\n"), "too_long");
}

TEST(RecordReader, ReadsOnAfterAProblemAndNamesItsLine) {
  const RecordFile file = Read("junk\n\n{\"schema\":1,\"type\":\"run\",\"new_field\":[]}\nmore\n");
  ASSERT_EQ(file.records.size(), 1u);
  EXPECT_TRUE(file.records[0].contains("new_field"));
  ASSERT_EQ(file.problems.size(), 2u);
  EXPECT_EQ(file.problems[0].line, 1);
  EXPECT_EQ(file.problems[1].line, 4);
}

TEST(RecordReader, TakesBracketsInsideStringsForText) {
  const std::string brackets(1000, '[');
  EXPECT_EQ(Read(RecordLine(RecordType::kRun, {{"text", "\"\\" + brackets}})).records.size(), 1u);
}

RC_GTEST_PROP(RecordReader, AccountsForEveryLineOfRandomBytes, (const std::string& bytes)) {
  const RecordFile file = Read(bytes);
  std::int64_t counted = static_cast<std::int64_t>(file.records.size());
  for (const auto& [kind, count] : file.problem_counts) counted += count;
  std::int64_t lines = 0;
  std::istringstream in(bytes);
  for (std::string line; std::getline(in, line);) {
    lines += line.find_first_not_of(" \t\r") != std::string::npos;
  }
  RC_ASSERT(counted == lines);
}

// Near-records reach deeper than random bytes do.
RC_GTEST_PROP(RecordReader, AccountsForADamagedRecord, (std::uint16_t at, char byte)) {
  RC_PRE(byte != '\n');
  std::string line = RecordLine(RecordType::kFinding, {{"a", {1, {{"b", "\xc3\xbc"}}}}});
  line[at % line.size()] = byte;
  const RecordFile file = Read(line);
  std::int64_t counted = static_cast<std::int64_t>(file.records.size());
  for (const auto& [kind, count] : file.problem_counts) counted += count;
  RC_ASSERT(counted == 1);
}

RC_GTEST_PROP(RecordReader, GivesBackWhatWasWritten, (const std::vector<std::int64_t>& numbers)) {
  std::string text;
  for (const std::int64_t number : numbers) {
    text += RecordLine(RecordType::kVerdict, {{"number", number}}) + "\n";
  }
  const RecordFile file = Read(text);
  RC_ASSERT(file.problem_counts.empty());
  RC_ASSERT(file.records.size() == numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    RC_ASSERT(file.records[i]["number"].get<std::int64_t>() == numbers[i]);
  }
}

TEST(Environment, SaysWhichHostAndBuild) {
  const Environment environment = CaptureEnvironment();
  EXPECT_EQ(environment.host_id.size(), 16u);
  EXPECT_GE(environment.cores, 1);
  EXPECT_FALSE(environment.compiler.empty());
  const json run = RunFields(environment, "2025-01-31T12:00:00Z", "manual");
  EXPECT_EQ(run["started_utc"], "2025-01-31T12:00:00Z");
  EXPECT_EQ(run["env"]["cores"], environment.cores);
  char name[256] = {};
  ASSERT_EQ(gethostname(name, sizeof name - 1), 0);
  EXPECT_EQ(run.dump().find("\"" + std::string(name) + "\""), std::string::npos);
}

TEST(Environment, WritesTimeInUtc) {
  const std::string now = NowUtc();
  ASSERT_EQ(now.size(), 20u);
  EXPECT_EQ(now[10], 'T');
  EXPECT_EQ(now.back(), 'Z');
}

}  // namespace
}  // namespace assay
