// Runs one CUDA block on one OS thread. A CUDA thread runs on a fiber and gives way only at a
// barrier or a warp collective; a fiber whose thread has ended takes the next thread, so a kernel
// that never waits costs no switch. Fibers and stacks are kept for the next block.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <cstddef>
#include <vector>

#include "gpu/host/tensor_core.h"

namespace assay {

class HostContext;

// A kernel with its arguments, as something to call for each thread.
struct ThreadBody {
  const void* closure;
  void (*call)(const void* closure, HostContext& context);
};

// Stacks with a guard page, for one OS thread, reused last in, first out.
class StackPool {
 public:
  using Stack = boost::context::stack_context;

  ~StackPool();
  Stack Take();
  void Return(const Stack& stack) { idle_.push_back(stack); }

 private:
  boost::context::protected_fixedsize_stack allocator_{64 * 1024};
  std::vector<Stack> idle_;
};

class BlockRunner {
 public:
  static constexpr int kMaxThreads = 1024;

  // Adds what the block reports to `report`.
  void Run(const LaunchShape& shape, Index3 block, ThreadBody body, LaunchReport& report);

 private:
  friend class HostContext;
  using Fiber = boost::context::fiber;

  // Threads that must meet: the block or one warp. The last to arrive does the work for all.
  struct Meeting {
    int live = 0, line = 0;
    std::vector<int> waiting;
  };
  enum class Collective { kBarrier, kShuffle, kSum, kMma };
  struct Warp {
    Meeting meeting;
    Collective collective = Collective::kBarrier;
    int mask = 0;
    std::array<std::uint32_t, kWarpSize> in, out;
    std::array<MmaLane, kWarpSize> mma;
  };

  void Prepare(const LaunchShape& shape);
  Fiber MakeFiber();
  Fiber FiberMain(Fiber&& from);
  void RunThread(int thread);
  void Arrive(Fiber&& from);
  void Barrier(int line) { Meet(block_meeting_, nullptr, line); }
  std::uint32_t Collect(Collective collective, std::uint32_t value, int mask, int line);
  void Mma(const MmaLane& registers, int line);
  void Meet(Meeting& meeting, Warp* warp, int line);
  void Leave(Meeting& meeting, Warp* warp);
  void Release(Meeting& meeting, Warp* warp);
  void SwitchTo(int next);
  Fiber Take(int next);
  int NextReady();
  void MakeReady(int thread) { ready_[ready_end_++ % kMaxThreads] = thread; }
  bool IsUnstarted(int thread) const { return thread >= started_ && thread < kScheduler; }
  void NoteSync(SyncKind kind, int thread, int line, int other_line);
  void AbandonDeadlock();

  static constexpr int kScheduler = kMaxThreads, kIdle = kMaxThreads + 1;
  StackPool stacks_;                           // outlives the fibers
  std::array<Fiber, kMaxThreads + 1> fibers_;  // the waiting ones; the last is Run's caller
  std::vector<Fiber> idle_;                    // their threads have ended
  std::array<int, kMaxThreads> ready_;         // ring of released threads, first in first out
  unsigned ready_begin_ = 0, ready_end_ = 0;
  int started_ = 0;  // threads below have begun
  int running_ = kScheduler, previous_ = kScheduler;
  bool closing_ = false;

  LaunchShape shape_{};
  Index3 block_{};
  ThreadBody body_{};
  LaunchReport* report_ = nullptr;
  std::size_t first_sync_fault_ = 0;  // of this block, in the report
  Meeting block_meeting_;
  std::vector<Warp> warps_;
  std::vector<std::byte> shared_;
};

// The Context of one CUDA thread on the host.
class HostContext {
 public:
  HostContext(BlockRunner& runner, int thread) : runner_(runner), thread_(thread) {}

  Index3 Block() const { return runner_.block_; }
  int Thread() const { return thread_; }
  void Barrier(int line = __builtin_LINE()) { runner_.Barrier(line); }

  template <class T>
  T ShuffleXor(T value, int mask, int line = __builtin_LINE()) {
    return Collect<T>(BlockRunner::Collective::kShuffle, value, mask, line);
  }
  float WarpSum(float value, int line = __builtin_LINE()) {
    return Collect<float>(BlockRunner::Collective::kSum, value, 0, line);
  }

  void Mma(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
           int line = __builtin_LINE()) {
    runner_.Mma({a, b, c}, line);
  }

  template <class T>
  std::span<T> Shared(int count) {
    const std::size_t begin = shared_end_;
    shared_end_ = std::min(begin + count * sizeof(T), runner_.shared_.size());
    return {reinterpret_cast<T*>(runner_.shared_.data() + begin),
            (shared_end_ - begin) / sizeof(T)};
  }

  template <class T>
  T AtomicAdd(T* target, T value) {
    return std::atomic_ref<T>(*target).fetch_add(value, std::memory_order_relaxed);
  }

  void Report(Fault fault);
  void NoteRead(std::uint8_t* ledger, Index index) {
    if (ledger != nullptr)
      std::atomic_ref<std::uint8_t>(ledger[index]).store(1, std::memory_order_relaxed);
  }

 private:
  template <class T>
  T Collect(BlockRunner::Collective collective, T value, int mask, int line) {
    return std::bit_cast<T>(
        runner_.Collect(collective, std::bit_cast<std::uint32_t>(value), mask, line));
  }

  BlockRunner& runner_;
  int thread_;
  std::size_t shared_end_ = 0;
};

static_assert(Context<HostContext>);

}  // namespace assay
