#include "ci/judge_many.h"

#include <omp.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

namespace assay {
namespace {

Verdict Interrupted() {
  Verdict verdict;
  verdict.outcome = Outcome::kSkipped;
  verdict.reason = "interrupted";
  return verdict;
}

class Pool {
 public:
  Pool(const std::vector<Case>& cases, const std::function<void(const Verdict&)>& done,
       const std::function<bool()>& stop)
      : cases_(cases), done_(done), stop_(stop), verdicts_(cases.size()) {}

  std::vector<Verdict> Run(int workers) {
    std::vector<std::thread> threads;
    for (int i = 0; i < workers; ++i) threads.emplace_back([this] { Work(); });
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    return std::move(verdicts_);
  }

 private:
  void Work() {
    omp_set_num_threads(1);
    for (std::size_t number; (number = Take()) < cases_.size();) {
      try {
        Put(number, stop_ && stop_() ? Interrupted() : RunCase(cases_[number]));
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
    }
  }

  // The next case to judge; past the end when none is left or one threw.
  std::size_t Take() {
    const std::lock_guard lock(mutex_);
    return error_ ? cases_.size() : next_++;
  }

  void Put(std::size_t number, Verdict verdict) {
    const std::lock_guard lock(mutex_);
    if (done_) done_(verdict);
    verdicts_[number] = std::move(verdict);
  }

  const std::vector<Case>& cases_;
  const std::function<void(const Verdict&)>& done_;
  const std::function<bool()>& stop_;
  std::vector<Verdict> verdicts_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::exception_ptr error_;
};

}  // namespace

std::vector<Verdict> JudgeMany(const std::vector<Case>& cases, int workers,
                               const std::function<void(const Verdict&)>& done,
                               const std::function<bool()>& stop) {
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  const int wanted = workers > 0 ? workers : std::max(1, cores);
  return Pool(cases, done, stop).Run(std::min(wanted, static_cast<int>(cases.size())));
}

}  // namespace assay
