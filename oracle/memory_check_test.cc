#include "oracle/memory_check.h"

#include <gtest/gtest.h>

#include "oracle/scripted_case.h"

namespace assay {
namespace {

using Evidence = std::vector<std::pair<std::string, std::string>>;

// gate_t[5].scale holds 64 bytes. A group-16 kernel reads for weight (row 3, column 32) at
// 32 / 16 * 32 + 3 = 67, which the layer keeps at 32 / 32 * 32 + 3 = 35.
KindTotals GroupSixteenRead() {
  AccessFault first;
  first.kind = AccessKind::kReadOutside;
  first.kernel = "gate_up_batch3_t";
  first.tensor = "gate_t[5].scale";
  first.byte = 67;
  first.extent = 64;
  first.weight = {3, 32};
  first.owner_byte = 35;
  first.block = {1, 0, 0};
  first.thread = 3;
  first.line = 42;
  first.file = "gpu/kernels/dot.h";
  return {64, 64, first};
}

KindTotals& Of(RunRecord& run, AccessKind kind) { return run.faults[static_cast<int>(kind)]; }

TEST(MemoryCheck, PassesACleanRun) {
  const ScriptedCase c = MakeScriptedCase();
  const RunRecord run = MakeScriptedRun(c.layer.problem);
  EXPECT_TRUE(CheckMemory(c.context(), run, nullptr).empty());
  EXPECT_TRUE(SafeUnchecked(run));
}

TEST(MemoryCheck, NamesTensorByteExtentAndTheScaleThatWasMeant) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = MakeScriptedRun(c.layer.problem);
  Of(run, AccessKind::kReadOutside) = GroupSixteenRead();
  const auto findings = CheckMemory(c.context(), run, nullptr);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, "memory");
  EXPECT_EQ(findings[0].error_class, "read_outside");
  EXPECT_EQ(findings[0].path, "k3");
  EXPECT_EQ(findings[0].kernel, "gate_up_batch3_t");
  EXPECT_EQ(findings[0].summary,
            "gate_up_batch3_t reads 1 byte outside gate_t[5].scale: lowest byte 64, extent 64 "
            "bytes, 64 accesses");
  EXPECT_EQ(findings[0].evidence,
            (Evidence{{"tensor", "gate_t[5].scale"},
                      {"byte", "64"},
                      {"extent", "64"},
                      {"where", "the first byte past the end"},
                      {"meant", "expert 5 gate row 3 group 1 (columns 32..63), byte 35"},
                      {"read", "byte 67, 4 bytes past the last"},
                      {"access_bytes", "1"},
                      {"block", "(1, 0, 0)"},
                      {"thread", "3"},
                      {"source", "gpu/kernels/dot.h:42"},
                      {"accesses", "64"}}));
  EXPECT_FALSE(SafeUnchecked(run));
}

TEST(MemoryCheck, ReportsReadsAndWritesApart) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = MakeScriptedRun(c.layer.problem);
  Of(run, AccessKind::kReadOutside) = GroupSixteenRead();
  KindTotals write = GroupSixteenRead();
  write.first.tensor = "moe_output";
  write.first.byte = write.lowest_byte = -2;
  write.first.weight = {};
  Of(run, AccessKind::kWriteOutside) = write;
  const auto findings = CheckMemory(c.context(), run, nullptr);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[1].error_class, "write_outside");
  EXPECT_EQ(EvidenceOf(findings[1], "where"), "2 bytes before the start");
  EXPECT_EQ(EvidenceOf(findings[1], "meant"), "not said by the kernel");
}

TEST(MemoryCheck, TakesCountsFromTheGpuAndDetailsFromTheReplay) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord gpu = MakeScriptedRun(c.layer.problem), replay = gpu;
  Of(gpu, AccessKind::kReadOutside) = GroupSixteenRead();
  Of(gpu, AccessKind::kReadOutside).count = 192;
  Of(gpu, AccessKind::kReadOutside).first.byte = 101;  // whichever thread came first
  Of(replay, AccessKind::kReadOutside) = GroupSixteenRead();
  const auto findings = CheckMemory(c.context(), gpu, &replay);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(EvidenceOf(findings[0], "accesses"), "192");
  EXPECT_EQ(EvidenceOf(findings[0], "byte"), "64");
  EXPECT_EQ(EvidenceOf(findings[0], "seen_by"),
            "the GPU (count) and the host replay (first access)");
}

TEST(MemoryCheck, KeepsAFaultThatOnlyOneDeviceSaw) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord clean = MakeScriptedRun(c.layer.problem), faulty = clean;
  Of(faulty, AccessKind::kReadOutside) = GroupSixteenRead();
  EXPECT_EQ(CheckMemory(c.context(), faulty, &clean).size(), 1u);
  const auto replay_only = CheckMemory(c.context(), clean, &faulty);
  ASSERT_EQ(replay_only.size(), 1u);
  EXPECT_EQ(EvidenceOf(replay_only[0], "seen_by"), "the host replay only");
}

TEST(MemoryCheck, FoldsBarrierFaultsByKernelAndKind) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = MakeScriptedRun(c.layer.problem);
  run.sync_faults = {{"silu_down", "exited_threads", {0, 1, 0}, 7, 55, 0},
                     {"silu_down", "exited_threads", {0, 2, 0}, 9, 55, 0},
                     {"silu_down", "divergent_lines", {0, 0, 0}, 1, 55, 60}};
  const auto findings = CheckMemory(c.context(), run, nullptr);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].error_class, "exited_threads");
  EXPECT_EQ(findings[0].evidence,
            (Evidence{{"block", "(0, 1, 0)"}, {"thread", "7"}, {"line", "55"}, {"faults", "2"}}));
  EXPECT_EQ(findings[1].error_class, "divergent_lines");
  EXPECT_EQ(EvidenceOf(findings[1], "other_line"), "60");
  EXPECT_FALSE(SafeUnchecked(run));
}

TEST(MemoryCheck, HoldsTheShippedBuildBackAfterAReadOfAnUnroutedExpert) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = MakeScriptedRun(c.layer.problem);
  Of(run, AccessKind::kUnrouted).count = 1;
  EXPECT_TRUE(CheckMemory(c.context(), run, nullptr).empty());  // ownership reports it
  EXPECT_FALSE(SafeUnchecked(run));
}

}  // namespace
}  // namespace assay
