#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <span>
#include <thread>

#include "gpu/kernels/numeric.h"
#include "gpu/run/world.h"
#include "reference/error.h"

namespace assay {
namespace {

// Where the threads of a step meet. A rank that gives up releases the others.
class Meeting {
 public:
  explicit Meeting(int ranks) : parts_(ranks), ranks_(ranks) {}

  // Each rank brings its part; `work` runs once, on the last to arrive, with all of them there.
  void Join(int rank, void* part, const std::function<void(std::span<void* const>)>& work) {
    std::unique_lock lock(mutex_);
    RequireEveryone();
    parts_[rank] = part;
    if (++arrived_ == ranks_) {
      work(parts_);
      arrived_ = 0;
      ++round_;
      changed_.notify_all();
      return;
    }
    changed_.wait(lock, [&, round = round_] { return round_ != round || gone_; });
    RequireEveryone();
  }
  void Leave() {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    changed_.notify_all();
  }

 private:
  void RequireEveryone() const {
    if (gone_) throw EnvironmentError("expert parallel: another rank gave up");
  }

  std::vector<void*> parts_;
  int ranks_, arrived_ = 0;
  std::int64_t round_ = 0;
  bool gone_ = false;
  std::mutex mutex_;
  std::condition_variable changed_;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(Meeting& meeting, int rank, const StagedMemory& memory)
      : meeting_(meeting), rank_(rank), memory_(memory) {}

  void AllReduce(Bf16* data, std::size_t count) override {
    std::vector<Bf16> mine(count);
    memory_.read(mine.data(), data, count * sizeof(Bf16));
    meeting_.Join(rank_, mine.data(), [&](std::span<void* const> parts) { Add(parts, count); });
    memory_.write(data, mine.data(), count * sizeof(Bf16));
  }
  void Broadcast(void* data, std::size_t bytes) override {
    meeting_.Join(rank_, data, [&](std::span<void* const> parts) {
      for (void* part : parts.subspan(1)) std::memcpy(part, parts[0], bytes);
    });
  }

 private:
  // Rank after rank; every rank gets the sum.
  static void Add(std::span<void* const> parts, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Bf16 sum = static_cast<Bf16*>(parts[0])[i];
      for (void* part : parts.subspan(1))
        sum = Bf16::Round(sum.ToFloat() + static_cast<Bf16*>(part)[i].ToFloat());
      for (void* part : parts) static_cast<Bf16*>(part)[i] = sum;
    }
  }

  Meeting& meeting_;
  int rank_;
  StagedMemory memory_;
};

class Threads : public World {
 public:
  RunRecord Run(const Problem& problem, const StagedMemory& memory, const RankStep& step) override {
    const ExpertMap map = MapOf(problem);
    Meeting meeting(problem.ep);
    std::vector<RunRecord> records(problem.ep);
    std::vector<std::exception_ptr> errors(problem.ep);
    const auto run = [&](int rank) {
      try {
        ThreadCommunicator communicator(meeting, rank, memory);
        records[rank] = step({rank, &map, &communicator});
      } catch (...) {
        errors[rank] = std::current_exception();
        meeting.Leave();
      }
    };
    {
      std::vector<std::jthread> threads;
      for (int rank = 1; rank < problem.ep; ++rank) threads.emplace_back(run, rank);
      run(0);
    }
    RethrowCause(errors);
    return MergeRanks(std::move(records), problem, map);
  }

 private:
  // A rank that only heard of another's failure is not the cause.
  static void RethrowCause(const std::vector<std::exception_ptr>& errors) {
    std::exception_ptr heard;
    for (const std::exception_ptr& error : errors) {
      if (!error) continue;
      try {
        std::rethrow_exception(error);
      } catch (const EnvironmentError& gave_up) {
        if (!std::string_view(gave_up.what()).ends_with("another rank gave up")) throw;
        heard = error;
      }
    }
    if (heard) std::rethrow_exception(heard);
  }
};

}  // namespace

World& ThreadWorld() {
  static Threads world;
  return world;
}

}  // namespace assay
