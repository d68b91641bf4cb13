#include "oracle/ownership_check.h"

#include <gtest/gtest.h>

#include "oracle/memory_check.h"
#include "oracle/scripted_case.h"

namespace assay {
namespace {

using Evidence = std::vector<std::pair<std::string, std::string>>;

KindTotals Access(AccessKind kind, const std::string& tensor, std::int64_t byte, WeightAt weight,
                  std::int64_t owner) {
  AccessFault first;
  first.kind = kind;
  first.kernel = "gate_up_batch3_t";
  first.tensor = tensor;
  first.byte = byte;
  first.extent = 64;
  first.weight = weight;
  first.owner_byte = owner;
  first.block = {0, 2, 1};
  first.thread = 3;
  first.line = 42;
  first.file = "gpu/kernels/dot.h";
  return {512, byte, first};
}

RunRecord RunWith(const ScriptedCase& c, const KindTotals& totals) {
  RunRecord run = MakeScriptedRun(c.layer.problem);
  run.faults[static_cast<int>(totals.first.kind)] = totals;
  return run;
}

TEST(OwnershipCheck, PassesACleanRun) {
  const ScriptedCase c = MakeScriptedCase();
  EXPECT_TRUE(CheckOwners(c.context(), MakeScriptedRun(c.layer.problem), nullptr).empty());
}

TEST(OwnershipCheck, SaysWhichGroupWasMeantAndWhichWasRead) {
  const ScriptedCase c = MakeScriptedCase();
  // For (row 3, column 16) group-16 code reads byte 1 * 32 + 3; its scale is byte 3, group 0.
  const RunRecord run =
      RunWith(c, Access(AccessKind::kWrongOwner, "gate_t[5].scale", 35, {3, 16}, 3));
  const auto findings = CheckOwners(c.context(), run, nullptr);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, "ownership");
  EXPECT_EQ(findings[0].error_class, "wrong_group");
  EXPECT_EQ(findings[0].kernel, "gate_up_batch3_t");
  EXPECT_EQ(findings[0].evidence,
            (Evidence{{"tensor", "gate_t[5].scale"},
                      {"byte", "35"},
                      {"extent", "64"},
                      {"meant", "expert 5 gate row 3 group 0 (columns 0..31), byte 3"},
                      {"read", "expert 5 gate row 3 group 1 (columns 32..63), byte 35"},
                      {"for_weight", "row 3 column 16"},
                      {"owner_byte", "3"},
                      {"block", "(0, 2, 1)"},
                      {"thread", "3"},
                      {"source", "gpu/kernels/dot.h:42"},
                      {"accesses", "512"}}));
}

TEST(OwnershipCheck, TellsAWrongRowFromAWrongGroup) {
  const ScriptedCase c = MakeScriptedCase();
  const auto class_of = [&](std::int64_t byte) {
    const auto totals = Access(AccessKind::kWrongOwner, "gate_t[5].scale", byte, {3, 16}, 3);
    return CheckOwners(c.context(), RunWith(c, totals), nullptr).at(0).error_class;
  };
  EXPECT_EQ(class_of(4), "wrong_row");
  EXPECT_EQ(class_of(36), "wrong_row_and_group");
}

TEST(OwnershipCheck, ReportsTheHalfInsideATensorWhoseOtherHalfIsOutside) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord run = RunWith(c, Access(AccessKind::kWrongOwner, "gate_t[5].scale", 35, {3, 16}, 3));
  run.faults[static_cast<int>(AccessKind::kReadOutside)] =
      Access(AccessKind::kReadOutside, "gate_t[5].scale", 67, {3, 32}, 35);
  EXPECT_EQ(CheckMemory(c.context(), run, nullptr).size(), 1u);
  EXPECT_EQ(CheckOwners(c.context(), run, nullptr).size(), 1u);
}

TEST(OwnershipCheck, NamesWeightAndByteOfAPayload) {
  const ScriptedCase c = MakeScriptedCase();
  const RunRecord run =
      RunWith(c, Access(AccessKind::kWrongOwner, "down_t[2].payload", 9, {3, 16}, 8));
  const auto findings = CheckOwners(c.context(), run, nullptr);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "wrong_owner");
  EXPECT_EQ(EvidenceOf(findings[0], "meant"), "expert 2 down row 3 column 16, byte 8");
  EXPECT_EQ(EvidenceOf(findings[0], "read"), "byte 9");
}

TEST(OwnershipCheck, ReportsReadsOfAnExpertThatNothingRoutes) {
  const ScriptedCase c = MakeScriptedCase();
  const RunRecord run =
      RunWith(c, Access(AccessKind::kUnrouted, "gate_t[unrouted].scale", 0, {3, 16}, -1));
  const auto findings = CheckOwners(c.context(), run, nullptr);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].error_class, "unrouted_expert");
  EXPECT_EQ(EvidenceOf(findings[0], "tensor"), "gate_t[unrouted].scale");
}

}  // namespace
}  // namespace assay
