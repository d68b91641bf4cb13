#include "gpu/host/host_executor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numeric>

#include "gpu/core/view.h"

namespace assay {
namespace {

// A kernel from a lambda, so that each test shows the code its threads run.
struct TestKernel {
  struct Args {
    LaunchShape shape;
  };
  static LaunchShape Shape(const Args& args) { return args.shape; }
  void operator()(HostContext& context, const Args&) const { body(context); }

  std::function<void(HostContext&)> body;
};

LaunchReport LaunchThreads(int threads, std::function<void(HostContext&)> body, int blocks = 1,
                           int shared_bytes = 0, int omp_threads = 2) {
  HostExecutor executor(omp_threads);
  return executor.Launch(TestKernel{std::move(body)}, {{{blocks, 1, 1}, threads, shared_bytes}});
}

TEST(Barrier, LetsEveryThreadSeeWhatTheOthersWrote) {
  std::vector<int> written(256), seen(256);
  const auto report = LaunchThreads(256, [&](HostContext& context) {
    written[context.Thread()] = 1;
    context.Barrier();
    seen[context.Thread()] = std::accumulate(written.begin(), written.end(), 0);
  });
  EXPECT_EQ(seen, std::vector<int>(256, 256));
  EXPECT_TRUE(report.sync_faults.empty());
}

TEST(WarpSum, EqualsTheShuffleButterflyBitForBit) {
  LaunchThreads(128, [](HostContext& context) {
    const float value =
        std::sin(static_cast<float>(context.Thread())) * std::pow(10.0f, context.Thread() % 7);
    float butterfly = value;
    for (int apart = 16; apart > 0; apart /= 2) butterfly += context.ShuffleXor(butterfly, apart);
    EXPECT_EQ(context.WarpSum(value), butterfly);
  });
}

TEST(AtomicAdd, LosesNoAdditionOverBlocks) {
  int total = 0;
  LaunchThreads(
      64, [&](HostContext& context) { context.AtomicAdd(&total, 1); }, 100);
  EXPECT_EQ(total, 6400);
}

TEST(Barrier, AfterAnEarlyReturnIsReportedAndPasses) {
  std::vector<int> passed(64);
  const auto report = LaunchThreads(64, [&](HostContext& context) {
    if (context.Thread() >= 40) return;
    context.Barrier();
    passed[context.Thread()] = 1;
  });
  EXPECT_EQ(std::accumulate(passed.begin(), passed.end(), 0), 40);
  ASSERT_EQ(report.sync_faults.size(), 1u);
  EXPECT_EQ(report.sync_faults[0].kind, SyncKind::kExitedThreads);
}

TEST(Barrier, AtTwoLinesIsReportedWithBoth) {
  const auto report = LaunchThreads(32, [&](HostContext& context) {
    const int line = context.Thread() < 16 ? 100 : 200;
    context.Barrier(line);
  });
  ASSERT_EQ(report.sync_faults.size(), 1u);
  EXPECT_EQ(report.sync_faults[0].kind, SyncKind::kDivergentLines);
  EXPECT_EQ(report.sync_faults[0].other_line, 100);
  EXPECT_EQ(report.sync_faults[0].line, 200);
}

TEST(Barrier, ThatNobodyCanPassIsADeadlockAndTheExecutorLives) {
  HostExecutor executor(2);
  const TestKernel stuck{[](HostContext& context) {
    if (context.Thread() == 5)
      context.Barrier();
    else
      context.WarpSum(1.0f);
  }};
  const auto report = executor.Launch(stuck, {{{3, 1, 1}, 32}});
  ASSERT_FALSE(report.sync_faults.empty());
  EXPECT_EQ(report.sync_faults[0].kind, SyncKind::kDeadlock);
  EXPECT_EQ(report.sync_faults[0].thread, 5);
  const auto next = executor.Launch(TestKernel{[](HostContext& context) { context.Barrier(); }},
                                    {{{3, 1, 1}, 64}});
  EXPECT_TRUE(next.sync_faults.empty());
}

Tag TagOf(const char* name, Index extent) {
  Tag tag;
  tag.name = name;
  tag.extent = extent;
  return tag;
}

TEST(SharedView, ReportsAWritePastWhatTheLaunchGranted) {
  const auto report = LaunchThreads(
      32,
      [](HostContext& context) {
        const auto granted = context.Shared<float>(40);
        const View<float, true> view(granted.data(),
                                     TagOf("activation", static_cast<Index>(granted.size())));
        view.Store(context, context.Thread(), 1.0f);
      },
      1, 30 * sizeof(float));
  const FaultTally& writes = report.faults[static_cast<int>(AccessKind::kWriteOutside)];
  EXPECT_EQ(writes.total, 2);
  EXPECT_EQ(writes.first.index, 30);
}

LaunchReport WritePastTheEnd(int omp_threads) {
  static std::vector<float> data(8);
  const View<float, true> view(data.data(), TagOf("data", 8));
  const auto body = [=](HostContext& context) {
    view.Store(context, 207 - context.Block().x, 0.0f);  // later blocks reach lower offsets
  };
  return LaunchThreads(32, body, 200, 0, omp_threads);
}

TEST(Report, NamesTheLowestOffsetWhateverTheNumberOfOpenMpThreads) {
  for (const int threads : {1, 2, 5}) {
    const auto report = WritePastTheEnd(threads);
    const FaultTally& writes = report.faults[static_cast<int>(AccessKind::kWriteOutside)];
    EXPECT_EQ(writes.total, 200 * 32);
    EXPECT_EQ(writes.first.index, 8);
    EXPECT_EQ(writes.first.block.x, 199);
    EXPECT_EQ(writes.first.thread, 0);
  }
}

TEST(View, ReportsAReadForAWeightThatOwnsAnotherUnit) {
  std::vector<std::uint8_t> scales(8), ledger(8);
  Tag tag = TagOf("scale", 8);
  tag.placement = PlaceUnits(true, 4, 64, 5);  // [2 groups of 32, 4 rows]
  tag.ledger = ledger.data();
  const View<const std::uint8_t, true> view(scales.data(), tag);
  const auto report = LaunchThreads(32, [&](HostContext& context) {
    if (context.Thread() > 0) return;
    view.LoadFor(context, {2, 40}, 6);  // row 2, group 1: right
    view.LoadFor(context, {2, 16}, 6);  // row 2, group 0 owns unit 2
  });
  const FaultTally& wrong = report.faults[static_cast<int>(AccessKind::kWrongOwner)];
  EXPECT_EQ(wrong.total, 1);
  EXPECT_EQ(wrong.first.index, 6);
  EXPECT_EQ(wrong.first.owner, 2);
  EXPECT_EQ(ledger, (std::vector<std::uint8_t>{0, 0, 0, 0, 0, 0, 1, 0}));
}

TEST(View, ReportsAReadOfAWeightsUnitThatDoesNotSayForWhichWeight) {
  std::vector<std::uint8_t> scales(8);
  Tag tag = TagOf("scale", 8);
  tag.placement = PlaceUnits(true, 4, 64, 5);
  const View<const std::uint8_t, true> view(scales.data(), tag);
  const auto report = LaunchThreads(32, [&](HostContext& context) {
    if (context.Thread() == 0) view.Load(context, 3);
  });
  const FaultTally& wrong = report.faults[static_cast<int>(AccessKind::kWrongOwner)];
  EXPECT_EQ(wrong.total, 1);
  EXPECT_EQ(wrong.first.owner, -1);
}

TEST(View, PartsReportOffsetsFromTheStartOfTheirTensor) {
  std::vector<float> data(10);
  const auto part = View<float, true>(data.data(), TagOf("data", 10)).Part(4, 3);
  const auto report = LaunchThreads(32, [&](HostContext& context) {
    if (context.Thread() == 0) part.Load(context, 3);
  });
  const Fault& first = report.faults[static_cast<int>(AccessKind::kReadOutside)].first;
  EXPECT_EQ(first.index, 7);
  EXPECT_EQ(first.extent, 7);
}

// A part of an empty tensor, say of a scratch that the layer does not have, holds nothing.
TEST(View, PartsNeverReachFurtherThanTheirTensor) {
  std::vector<float> data(10);
  const View<float, true> whole(data.data(), TagOf("data", 10)),
      none(data.data(), TagOf("none", 0));
  EXPECT_EQ(whole.Part(8, 5).tag().extent, 2);
  EXPECT_EQ(whole.Part(12, 5).tag().extent, 0);
  const auto report = LaunchThreads(32, [&, part = none.Part(0, 4)](HostContext& context) {
    if (context.Thread() == 0) part.Load(context, 0);
  });
  EXPECT_EQ(report.faults[static_cast<int>(AccessKind::kReadOutside)].total, 1);
}

TEST(Executor, RefusesAThreadCountThatIsNoMultipleOfAWarp) {
  EXPECT_THROW(LaunchThreads(33, [](HostContext&) {}), std::invalid_argument);
}

}  // namespace
}  // namespace assay
