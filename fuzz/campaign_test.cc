#include "fuzz/campaign.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

namespace assay {
namespace {

CampaignOptions Small(std::int64_t cases, int workers) {
  CampaignOptions options;
  options.distribution = Distribution::kSmall;
  options.seed = 11;
  options.cases = cases;
  options.workers = workers;
  options.checks = Checks::kFast;
  return options;
}

struct Log {
  std::vector<std::int64_t> numbers;
  std::vector<std::string> lines;
  std::vector<std::uint64_t> hashes;
};

std::pair<CampaignResult, Log> RunLogged(const CampaignOptions& options) {
  Log log;
  const auto each = [&](std::int64_t number, const Case& c, const Verdict& verdict) {
    log.numbers.push_back(number);
    log.lines.push_back(ToLine(c));
    log.hashes.push_back(verdict.output_hash);
  };
  return {RunCampaign(options, each), log};
}

TEST(Campaign, DoesNotDependOnTheNumberOfWorkers) {
  const auto [one, log_of_one] = RunLogged(Small(40, 1));
  const auto [four, log_of_four] = RunLogged(Small(40, 4));
  std::vector<std::int64_t> numbers(40);
  std::iota(numbers.begin(), numbers.end(), 0);
  EXPECT_EQ(log_of_four.numbers, numbers);
  EXPECT_EQ(log_of_one.lines, log_of_four.lines);
  EXPECT_EQ(log_of_one.hashes, log_of_four.hashes);
  EXPECT_EQ(one.own_kernels, four.own_kernels);
  EXPECT_EQ(one.passed, four.passed);
  EXPECT_EQ(one.worst_margin, four.worst_margin);
}

TEST(Campaign, CountsEveryCaseOnce) {
  const auto [result, log] = RunLogged(Small(60, 2));
  EXPECT_EQ(result.passed + result.failed + result.skipped + result.vacuous, 60);
  EXPECT_LE(result.refused, result.passed);
  std::int64_t own = 0;
  for (const auto& [cell, cases] : result.own_kernels) own += cases;
  EXPECT_EQ(own, 60 - result.refused - result.skipped);
  EXPECT_GT(result.work.elements, 0);
  EXPECT_GT(result.seconds.at("build"), 0);
  EXPECT_EQ(result.failed, 0) << ToLine(result.failures.at(0).first);
}

TEST(Campaign, StopsCleanlyWithWhatItHas) {
  std::atomic<int> seen = 0;
  const auto each = [&](std::int64_t, const Case&, const Verdict&) { ++seen; };
  const CampaignResult result = RunCampaign(Small(1'000'000, 2), each, [&] { return seen >= 5; });
  EXPECT_TRUE(result.interrupted);
  EXPECT_GE(seen, 5);
  EXPECT_EQ(result.passed + result.failed + result.skipped + result.vacuous, seen);
}

TEST(Campaign, StopsWhenItsTimeIsUp) {
  CampaignOptions options = Small(1'000'000'000, 2);
  options.seconds = 0.2;
  const CampaignResult result = RunCampaign(options);
  EXPECT_FALSE(result.interrupted);
  EXPECT_GT(result.passed, 0);
  EXPECT_LT(result.wall_seconds, 10);  // a case takes well under a second
}

TEST(Campaign, RunsOnlyTheWantedPaths) {
  CampaignOptions options = Small(30, 2);
  options.paths = {PathId::kK3};
  const auto [result, log] = RunLogged(options);
  EXPECT_EQ(log.lines.size(), 30u);
  for (const std::string& line : log.lines) EXPECT_EQ(line.rfind("path=k3 ", 0), 0u) << line;
}

TEST(Campaign, PassesAFaultOfTheHarnessOn) {
  CampaignOptions options = Small(50, 2);
  options.run.factory = [](PathId, const Problem&, Device, int) -> std::unique_ptr<Runner> {
    throw std::logic_error("a bug");
  };
  EXPECT_THROW(RunCampaign(options), std::logic_error);
}

}  // namespace
}  // namespace assay
