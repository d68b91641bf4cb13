#include "gpu/host/block_runner.h"

#include <algorithm>
#include <utility>

namespace assay {
namespace {

// What Boost.Context wants of a stack allocator.
struct PooledStack {
  StackPool* pool;

  StackPool::Stack allocate() { return pool->Take(); }
  void deallocate(const StackPool::Stack& stack) { pool->Return(stack); }
};

// Lane 0 of a butterfly over lanes 16, 8, 4, 2, 1 apart; addition commutes, so all lanes agree.
float TreeSum(const std::array<std::uint32_t, kWarpSize>& lanes) {
  auto sums = std::bit_cast<std::array<float, kWarpSize>>(lanes);
  for (int apart = kWarpSize / 2; apart > 0; apart /= 2)
    for (int lane = 0; lane < apart; ++lane) sums[lane] += sums[lane + apart];
  return sums[0];
}

}  // namespace

StackPool::~StackPool() {
  for (Stack& stack : idle_) allocator_.deallocate(stack);
}

StackPool::Stack StackPool::Take() {
  if (idle_.empty()) return allocator_.allocate();
  const Stack stack = idle_.back();
  idle_.pop_back();
  return stack;
}

void BlockRunner::Run(const LaunchShape& shape, Index3 block, ThreadBody body,
                      LaunchReport& report) {
  block_ = block;
  body_ = body;
  report_ = &report;
  first_sync_fault_ = report.sync_faults.size();
  Prepare(shape);
  SwitchTo(NextReady());
  if (block_meeting_.live > 0) AbandonDeadlock();
}

void BlockRunner::Prepare(const LaunchShape& shape) {
  shape_ = shape;
  block_meeting_.live = shape.threads;
  warps_.resize(shape.threads / kWarpSize);
  for (Warp& warp : warps_) warp.meeting.live = kWarpSize;
  shared_.assign(shape.shared_bytes, std::byte{0xFF});  // NaN until written
  started_ = 0;
}

BlockRunner::Fiber BlockRunner::MakeFiber() {
  return Fiber(std::allocator_arg, PooledStack{&stacks_},
               [this](Fiber&& from) { return FiberMain(std::move(from)); });
}

// (A loop that the compiler can prove endless is miscompiled by GCC 12: hence closing_.)
BlockRunner::Fiber BlockRunner::FiberMain(Fiber&& from) {
  Arrive(std::move(from));
  while (!closing_) {
    RunThread(running_);
    const int next = NextReady();
    if (IsUnstarted(next)) {
      running_ = next;
      ++started_;
      continue;
    }
    Fiber to = Take(next);
    previous_ = kIdle;
    Arrive(std::move(to).resume());
  }
  return Take(kScheduler);
}

void BlockRunner::RunThread(int thread) {
  HostContext context(*this, thread);
  body_.call(body_.closure, context);
  Warp& warp = warps_[thread / kWarpSize];
  warp.in[thread % kWarpSize] = ~0u;  // a NaN for those who still count on this lane
  warp.mma[thread % kWarpSize] = {};
  Leave(warp.meeting, &warp);
  Leave(block_meeting_, nullptr);
}

// Keeps the fiber that came here, under the thread that waits on it.
void BlockRunner::Arrive(Fiber&& from) {
  if (previous_ == kIdle)
    idle_.push_back(std::move(from));
  else
    fibers_[previous_] = std::move(from);
}

std::uint32_t BlockRunner::Collect(Collective collective, std::uint32_t value, int mask, int line) {
  Warp& warp = warps_[running_ / kWarpSize];
  const int lane = running_ % kWarpSize;
  warp.in[lane] = value;
  warp.collective = collective;
  warp.mask = mask;
  Meet(warp.meeting, &warp, line);
  return warp.out[lane];
}

void BlockRunner::Mma(const MmaLane& registers, int line) {
  Warp& warp = warps_[running_ / kWarpSize];
  warp.mma[running_ % kWarpSize] = registers;
  warp.collective = Collective::kMma;
  Meet(warp.meeting, &warp, line);
}

void BlockRunner::Meet(Meeting& meeting, Warp* warp, int line) {
  if (meeting.waiting.empty()) meeting.line = line;
  if (meeting.line != line) NoteSync(SyncKind::kDivergentLines, running_, line, meeting.line);
  const int expected = warp != nullptr ? kWarpSize : shape_.threads;
  if (meeting.waiting.empty() && meeting.live < expected)
    NoteSync(SyncKind::kExitedThreads, running_, line, 0);
  if (static_cast<int>(meeting.waiting.size()) + 1 == meeting.live) return Release(meeting, warp);
  meeting.waiting.push_back(running_);
  SwitchTo(NextReady());
}

// CUDA lets a barrier pass once every thread that has not exited waits there.
void BlockRunner::Leave(Meeting& meeting, Warp* warp) {
  --meeting.live;
  if (meeting.waiting.empty()) return;
  NoteSync(SyncKind::kExitedThreads, meeting.waiting.front(), meeting.line, 0);
  if (static_cast<int>(meeting.waiting.size()) == meeting.live) Release(meeting, warp);
}

void BlockRunner::Release(Meeting& meeting, Warp* warp) {
  if (warp != nullptr && warp->collective == Collective::kSum)
    warp->out.fill(std::bit_cast<std::uint32_t>(TreeSum(warp->in)));
  if (warp != nullptr && warp->collective == Collective::kShuffle)
    for (int lane = 0; lane < kWarpSize; ++lane) warp->out[lane] = warp->in[lane ^ warp->mask];
  if (warp != nullptr && warp->collective == Collective::kMma) MultiplyAccumulate(warp->mma);
  for (const int thread : meeting.waiting) MakeReady(thread);
  meeting.waiting.clear();
}

// Goes straight from fiber to fiber. resume() returns whoever came back to us.
void BlockRunner::SwitchTo(int next) {
  Fiber to = Take(next);
  Arrive(std::move(to).resume());
}

// The fiber to run `next` on: its own, or for a thread that has not begun an idle or new one.
BlockRunner::Fiber BlockRunner::Take(int next) {
  previous_ = std::exchange(running_, next);
  if (!IsUnstarted(next)) return std::move(fibers_[next]);
  ++started_;
  if (idle_.empty()) return MakeFiber();
  Fiber idle = std::move(idle_.back());
  idle_.pop_back();
  return idle;
}

// Released threads first (their stacks are warm), then threads that have not begun.
int BlockRunner::NextReady() {
  if (ready_begin_ != ready_end_) return ready_[ready_begin_++ % kMaxThreads];
  return started_ < shape_.threads ? started_ : kScheduler;
}

void BlockRunner::NoteSync(SyncKind kind, int thread, int line, int other_line) {
  const auto known = [&](const SyncFault& fault) {
    return fault.kind == kind && fault.line == line;
  };
  const auto begin = report_->sync_faults.begin() + first_sync_fault_;
  if (std::any_of(begin, report_->sync_faults.end(), known)) return;
  report_->sync_faults.push_back({kind, block_, thread, line, other_line});
}

// Nobody can go on: say who waits where and unwind every fiber.
void BlockRunner::AbandonDeadlock() {
  const auto note = [this](Meeting& meeting) {
    if (!meeting.waiting.empty())
      NoteSync(SyncKind::kDeadlock, meeting.waiting.front(), meeting.line, 0);
    meeting.waiting.clear();
  };
  note(block_meeting_);
  for (Warp& warp : warps_) note(warp.meeting);
  for (Fiber& fiber : fibers_) fiber = Fiber();
}

void HostContext::Report(Fault fault) {
  fault.block = runner_.block_;
  fault.thread = thread_;
  runner_.report_->faults[static_cast<int>(fault.kind)].Add(fault);
}

}  // namespace assay
