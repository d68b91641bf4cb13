#include "fuzz/campaign.h"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <map>
#include <mutex>
#include <thread>

#include "fuzz/cells.h"

namespace assay {

namespace {

using Each = std::function<void(std::int64_t, const Case&, const Verdict&)>;
using Stop = std::function<bool()>;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

// Adds verdicts up, in the order of their numbers, so that the result does not depend on threads.
class Counter {
 public:
  void Add(const Case& c, const Verdict& verdict) {
    Count(verdict.outcome);
    if (!verdict.reason.empty()) ++result_.reasons[verdict.reason];
    for (const auto& [stage, seconds] : verdict.seconds) result_.seconds[stage] += seconds;
    if (verdict.outcome == Outcome::kFailed) result_.failures.emplace_back(c, verdict);
    if (RanOwnKernels(verdict)) AddRun(c, verdict);
  }

  CampaignResult Finish() {
    result_.median_hidden = Median(std::move(hidden_));
    result_.median_inter = Median(std::move(inter_));
    return std::move(result_);
  }

 private:
  void Count(Outcome outcome) {
    switch (outcome) {
      case Outcome::kPassed:
        ++result_.passed;
        break;
      case Outcome::kFailed:
        ++result_.failed;
        break;
      case Outcome::kRefused:
        ++result_.passed;
        ++result_.refused;
        break;
      case Outcome::kSkipped:
        ++result_.skipped;
        break;
      case Outcome::kVacuous:
        ++result_.vacuous;
    }
  }

  // By the launch record: a case whose path launched nothing covers nothing.
  static bool RanOwnKernels(const Verdict& verdict) {
    const bool judged = verdict.outcome == Outcome::kPassed ||
                        verdict.outcome == Outcome::kFailed || verdict.outcome == Outcome::kVacuous;
    return judged && !verdict.kernels.empty();
  }

  void AddRun(const Case& c, const Verdict& verdict) {
    const PathId landed = verdict.landing.landed;
    ++result_.own_kernels[CellName(landed, c.problem)];
    for (const std::string& name : VariantNames(landed, c.problem)) ++result_.variants[name];
    result_.work += verdict.work;
    result_.worst_margin = std::max(result_.worst_margin, verdict.worst_margin);
    hidden_.push_back(c.problem.hidden);
    inter_.push_back(c.problem.inter);
  }

  CampaignResult result_;
  std::vector<double> hidden_, inter_;
};

bool Wanted(const CampaignOptions& options, PathId path) {
  return options.paths.empty() ||
         std::find(options.paths.begin(), options.paths.end(), path) != options.paths.end();
}

class Campaign {
 public:
  Campaign(const CampaignOptions& options, const Each& each, const Stop& stop)
      : options_(options), each_(each), stop_(stop), start_(Now()) {}

  CampaignResult Run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < Workers(); ++i) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    if (failure_) std::rethrow_exception(failure_);
    CampaignResult result = counter_.Finish();
    result.wall_seconds = Now() - start_;
    result.interrupted = interrupted_;
    return result;
  }

 private:
  struct Job {
    std::int64_t number;
    Case c;
  };
  using Done = std::pair<Case, Verdict>;

  int Workers() const {
    const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    const int wanted = options_.workers > 0 ? options_.workers : cores;
    return static_cast<int>(std::clamp<std::int64_t>(options_.cases, 1, wanted));
  }

  bool TimeIsUp() const { return options_.seconds > 0 && Now() - start_ >= options_.seconds; }

  // Cases are numbered as they are handed out; every number below the last one is judged.
  std::optional<Job> Next() {
    const std::lock_guard lock(next_mutex_);
    if (!interrupted_ && stop_ && stop_()) interrupted_ = true;
    if (interrupted_ || failed_ || handed_out_ >= options_.cases || TimeIsUp()) return std::nullopt;
    return Job{handed_out_++, NextWanted()};
  }

  Case NextWanted() {
    for (;;) {
      Case c = GenerateCase(options_.distribution, options_.seed, drawn_++);
      if (!Wanted(options_, c.path)) continue;
      c.checks = options_.checks;
      c.device = options_.device;
      return c;
    }
  }

  void Work() {
    omp_set_num_threads(1);  // one case a thread: the cores are taken
    try {
      while (const auto job = Next()) Report(job->number, {job->c, RunCase(job->c, options_.run)});
    } catch (...) {
      const std::lock_guard lock(report_mutex_);
      if (!failure_) failure_ = std::current_exception();
      failed_ = true;
    }
  }

  // Holds verdicts back until all earlier ones are there.
  void Report(std::int64_t number, Done done) {
    const std::lock_guard lock(report_mutex_);
    waiting_.emplace(number, std::move(done));
    for (auto it = waiting_.find(reported_); it != waiting_.end(); it = waiting_.find(reported_)) {
      const auto& [c, verdict] = it->second;
      counter_.Add(c, verdict);
      if (each_) each_(reported_, c, verdict);
      waiting_.erase(it);
      ++reported_;
    }
  }

  const CampaignOptions& options_;
  const Each& each_;
  const Stop& stop_;
  const double start_;

  std::mutex next_mutex_;
  std::int64_t handed_out_ = 0;
  std::uint64_t drawn_ = 0;
  bool interrupted_ = false;

  std::mutex report_mutex_;
  std::map<std::int64_t, Done> waiting_;
  std::int64_t reported_ = 0;
  Counter counter_;
  std::exception_ptr failure_;
  std::atomic<bool> failed_ = false;
};

void RequireReachable(const std::vector<PathId>& paths) {
  for (const PathId path : paths) {
    bool found = false;
    for (std::uint64_t i = 0; i < 4000 && !found; ++i) {
      found = GenerateCase(Distribution::kSmall, 0, i).path == path;
    }
    if (!found)
      throw UsageError("path " + std::string(Token(path)) + ": never generated; leave it out");
  }
}

}  // namespace

CampaignResult RunCampaign(const CampaignOptions& options, const Each& each, const Stop& stop) {
  RequireReachable(options.paths);
  return Campaign(options, each, stop).Run();
}

}  // namespace assay
