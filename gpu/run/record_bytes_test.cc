#include "gpu/run/record_bytes.h"

#include <gtest/gtest.h>

#include "reference/error.h"

namespace assay {
namespace {

RunRecord FullRecord() {
  RunRecord record;
  record.launches = {{"blend", {3, 2, 1}, 128, 4}};
  record.output = {1, 2, 0xFFFF};
  record.ids = {5, 6};
  record.weights = {0.25f, 0.75f};
  record.identity_weights = {0.5f};
  record.stages.gate = {7, 8};
  record.stages.logits_fp32 = {-1.5f};
  record.rank_differences = {{1, "output", 2}};
  record.checked = record.has_ledger = true;
  record.faults[2].count = 4;
  record.faults[2].first.tensor = "gate[5].scale";
  record.faults[2].first.weight = {17, 32};
  record.faults[2].first.rank = 3;
  record.sync_faults = {{"down", "deadlock", {1, 1, 1}, 5, 10, 11}};
  record.scale_reads = {{Projection::kUp, 4, "up[4].scale", {1, 0, 1}}};
  return record;
}

TEST(RecordBytes, ComeBackAsTheyWere) {
  const auto bytes = ToBytes(FullRecord());
  const RunRecord back = RunRecordFromBytes(bytes);
  EXPECT_EQ(ToBytes(back), bytes);
  EXPECT_EQ(back.faults[2].first.tensor, "gate[5].scale");
  EXPECT_EQ(back.faults[2].first.weight.column, 32);
  EXPECT_EQ(back.scale_reads[0].read, (std::vector<std::uint8_t>{1, 0, 1}));
  EXPECT_EQ(back.weights[1], 0.75f);
  EXPECT_EQ(back.identity_weights, std::vector<float>{0.5f});
  EXPECT_EQ(back.stages.logits_fp32, std::vector<float>{-1.5f});
  EXPECT_TRUE(back.checked);
}

TEST(RecordBytes, CutAnywhereAreRefused) {
  const auto bytes = ToBytes(FullRecord());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(RunRecordFromBytes(std::span(bytes).first(size)), EnvironmentError) << size;
  auto longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THROW(RunRecordFromBytes(longer), EnvironmentError);
}

// A length of 2^64 - 1 in the first field must not ask for memory.
TEST(RecordBytes, ALyingLengthIsRefused) {
  auto bytes = ToBytes(FullRecord());
  std::fill(bytes.begin(), bytes.begin() + 8, std::byte{0xFF});
  EXPECT_THROW(RunRecordFromBytes(bytes), EnvironmentError);
}

}  // namespace
}  // namespace assay
