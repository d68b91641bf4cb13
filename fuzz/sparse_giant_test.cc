// Index arithmetic beyond 32 bits: real kernels on the last blocks of layers whose tensors have
// more than 2^32 elements. Nothing of that size is allocated: the tensors lie in sparse address
// space, and every access is judged against extent and owner.
#include <gtest/gtest.h>

#include "fuzz/faults/kernels.h"
#include "fuzz/sparse_memory.h"
#include "gpu/host/host_executor.h"

namespace assay {
namespace {

constexpr int kSide = 1 << 17;  // rows and columns: 2^34 weights
constexpr Index kWeights = Index{kSide} * kSide;
constexpr std::uint8_t kOneE4m3 = 0x38;

struct ShiftedContext : HostContext {
  ShiftedContext(const HostContext& context, Index3 by) : HostContext(context), by_(by) {}
  Index3 Block() const {
    const Index3 block = HostContext::Block();
    return {block.x + by_.x, block.y + by_.y, block.z + by_.z};
  }

 private:
  Index3 by_;
};

// The last block of a kernel's grid, and nothing before it.
template <class Kernel>
struct LastBlock {
  using Args = typename Kernel::Args;

  static LaunchShape Shape(const Args& args) {
    LaunchShape shape = Kernel::Shape(args);
    shape.grid = {1, 1, 1};
    return shape;
  }
  void operator()(HostContext& context, const Args& args) const {
    const Index3 grid = Kernel::Shape(args).grid;
    ShiftedContext shifted(context, {grid.x - 1, grid.y - 1, grid.z - 1});
    Kernel{}(shifted, args);
  }
};

template <class T>
View<T, true> ViewOf(const char* name, const SparseMemory& memory, Index extent,
                     Placement placement = {}, Index offset = 0) {
  Tag tag;
  tag.name = name;
  tag.extent = extent;
  tag.placement = placement;
  return {memory.As<std::remove_const_t<T>>() + offset, tag};
}

// FP4 weights of value 1 in every column of the last row, 0 elsewhere.
template <class Word>
struct Giant {
  static constexpr bool kTransposed = sizeof(Word) == 1;
  static constexpr int kShift = kTransposed ? 1 : 3;  // log2 of columns in a word

  SparseMemory payload{kWeights / 2}, scale{kWeights / 16};
  Placement place_payload = PlaceUnits(kTransposed, kSide, kSide, kShift);
  Placement place_scale = PlaceUnits(kTransposed, kSide, kSide, 4);

  Giant() {
    for (int column = 0; column < kSide; column += 1 << kShift)
      payload.As<Word>()[place_payload.UnitOf({kSide - 1, column})] =
          static_cast<Word>(0x22222222u);
    for (int column = 0; column < kSide; column += 16)
      scale.As<std::uint8_t>()[place_scale.UnitOf({kSide - 1, column})] = kOneE4m3;
  }
  WeightMatrix<Word, true> Matrix() const {
    return {ViewOf<const Word>("payload", payload, kWeights >> kShift, place_payload),
            ViewOf<const std::uint8_t>("scale", scale, kWeights / 16, place_scale), 1.0f};
  }
};

// One token, one expert; input all ones.
template <class Word>
struct GateUpCase {
  std::vector<WeightMatrix<Word, true>> table;
  SparseMemory input{kSide * 2}, ids{4}, out{kSide * 2};

  explicit GateUpCase(const WeightMatrix<Word, true>& matrix) : table{matrix} {
    for (int i = 0; i < kSide; ++i) input.As<std::uint16_t>()[i] = 0x3F80;
  }
  GateUpArgs<Word, true> Args() {
    Tag tag;
    tag.name = "table";
    tag.extent = 1;
    const ExpertTables<Word, true> tables{{table.data(), tag}, {}};
    const auto gate = ViewOf<Bf16>("gate_out", out, kSide);
    return {{1, 1, false},
            kSide,
            kSide,
            ViewOf<const Bf16>("input", input, kSide),
            {},
            ViewOf<const std::uint32_t>("ids", ids, 1),
            {tables, tables},
            {gate, gate},
            {}};
  }
  float LastOutput() const { return Bf16{out.As<std::uint16_t>()[kSide - 1]}.ToFloat(); }
};

std::int64_t Faults(const LaunchReport& report) {
  std::int64_t all = 0;
  for (const FaultTally& tally : report.faults) all += tally.total;
  return all;
}

template <class Kernel, class Word>
LaunchReport RunLast(GateUpCase<Word>& c) {
  return HostExecutor(1).Launch(LastBlock<Kernel>{}, c.Args());
}

TEST(SparseGiant, RowMajorFp4ReadsTheLastRowOfAMatrixOfTwoToThe34Weights) {
  const Giant<std::uint32_t> giant;
  GateUpCase<std::uint32_t> c(giant.Matrix());
  const auto report = RunLast<GateUpRowMajor<Nvfp4Kernel, Nvfp4Kernel, 16, true>>(c);
  EXPECT_EQ(Faults(report), 0);
  EXPECT_EQ(c.LastOutput(), static_cast<float>(kSide));
}

TEST(SparseGiant, TransposedFp4ReadsTheLastRowOfAMatrixOfTwoToThe34Weights) {
  const Giant<std::uint8_t> giant;
  GateUpCase<std::uint8_t> c(giant.Matrix());
  const auto report = RunLast<GateUpTransposed<Nvfp4Kernel, Nvfp4Kernel, true>>(c);
  EXPECT_EQ(Faults(report), 0);
  EXPECT_EQ(c.LastOutput(), static_cast<float>(kSide));
}

TEST(SparseGiant, Bf16ReadsTheLastRowOfAMatrixOfTwoToThe34Weights) {
  const SparseMemory payload(kWeights * 2);
  const Placement place = PlaceUnits(false, kSide, kSide, 0);
  for (int column = 0; column < kSide; ++column)
    payload.As<std::uint16_t>()[place.UnitOf({kSide - 1, column})] = 0x3F80;
  GateUpCase<std::uint16_t> c(
      {ViewOf<const std::uint16_t>("payload", payload, kWeights, place), {}, 1.0f});
  const auto report = RunLast<GateUpRowMajor<Bf16Kernel, Bf16Kernel, 16, true>>(c);
  EXPECT_EQ(Faults(report), 0);
  EXPECT_EQ(c.LastOutput(), static_cast<float>(kSide));
}

// Experts that fill 2^33 weights together, each a tensor of its own: the last one is read.
TEST(SparseGiant, TheLastOfManyExpertsIsReachedBeyondTwoToThe32Weights) {
  constexpr int kExperts = 512, kRows = 4096, kColumns = 4096;
  constexpr Index kEach = Index{kRows} * kColumns;
  const SparseMemory payload(kExperts * kEach / 2), scale(kExperts * kEach / 16);
  const Placement place = PlaceUnits(true, kRows, kColumns, 1);
  const Placement place_scale = PlaceUnits(true, kRows, kColumns, 4);
  std::vector<WeightMatrix<std::uint8_t, true>> table;
  for (Index e = 0; e < kExperts; ++e)
    table.push_back(
        {ViewOf<const std::uint8_t>("payload", payload, kEach / 2, place, e * kEach / 2),
         ViewOf<const std::uint8_t>("scale", scale, kEach / 16, place_scale, e * kEach / 16),
         1.0f});
  for (int column = 0; column < kColumns; column += 2) {
    const WeightAt last{kRows - 1, column};
    payload.As<std::uint8_t>()[(kExperts - 1) * kEach / 2 + place.UnitOf(last)] = 0x22;
    scale.As<std::uint8_t>()[(kExperts - 1) * kEach / 16 + place_scale.UnitOf(last)] = kOneE4m3;
  }
  GateUpCase<std::uint8_t> c(table.front());
  c.ids.As<std::uint32_t>()[0] = kExperts - 1;
  GateUpArgs<std::uint8_t, true> args = c.Args();
  args.hidden = kColumns;
  args.inter = kRows;
  Tag tag;
  tag.name = "table";
  tag.extent = kExperts;
  args.tables[0].routed = args.tables[1].routed = {table.data(), tag};
  const auto report =
      HostExecutor(1).Launch(LastBlock<GateUpTransposed<Nvfp4Kernel, Nvfp4Kernel, true>>{}, args);
  EXPECT_EQ(Faults(report), 0);
  EXPECT_EQ(Bf16{c.out.As<std::uint16_t>()[kRows - 1]}.ToFloat(), static_cast<float>(kColumns));
}

// 2,048 tokens of 32 slots: 2^33 results of gate.
TEST(SparseGiant, ResultsOfTheLastSlotLieBeyondTwoToThe32Elements) {
  constexpr int kTokens = 2048, kTopK = 32, kColumns = 32;
  constexpr Index kSlots = Index{kTokens} * kTopK, kExtent = kSlots * kSide;
  const Index weights = Index{kSide} * kColumns;
  const SparseMemory payload(weights / 2), scale(weights / 16), out(kExtent * 2);
  const SparseMemory ids(kSlots * 4), input(Index{kTokens} * kColumns * 2);
  const Placement place = PlaceUnits(true, kSide, kColumns, 1);
  const Placement place_scale = PlaceUnits(true, kSide, kColumns, 4);
  std::vector<WeightMatrix<std::uint8_t, true>> table = {
      {ViewOf<const std::uint8_t>("payload", payload, weights / 2, place),
       ViewOf<const std::uint8_t>("scale", scale, weights / 16, place_scale), 1.0f}};
  for (int column = 0; column < kColumns; column += 2) {
    payload.As<std::uint8_t>()[place.UnitOf({kSide - 1, column})] = 0x22;
    scale.As<std::uint8_t>()[place_scale.UnitOf({kSide - 1, column})] = kOneE4m3;
  }
  for (int i = 0; i < kColumns; ++i)
    input.As<std::uint16_t>()[(Index{kTokens} - 1) * kColumns + i] = 0x3F80;
  Tag tag;
  tag.name = "table";
  tag.extent = 1;
  const ExpertTables<std::uint8_t, true> tables{{table.data(), tag}, {}};
  const auto gate = ViewOf<Bf16>("gate_out", out, kExtent);
  const GateUpArgs<std::uint8_t, true> args{
      {kTokens, kTopK, false},
      kColumns,
      kSide,
      ViewOf<const Bf16>("input", input, Index{kTokens} * kColumns),
      {},
      ViewOf<const std::uint32_t>("ids", ids, kSlots),
      {tables, tables},
      {gate, gate},
      {}};
  const auto report =
      HostExecutor(1).Launch(LastBlock<GateUpTransposed<Nvfp4Kernel, Nvfp4Kernel, true>>{}, args);
  EXPECT_EQ(Faults(report), 0);
  EXPECT_EQ(Bf16{out.As<std::uint16_t>()[kExtent - 1]}.ToFloat(), 32.0f);
}

// The planted fault: 32-bit products of row and column wrap to another row's bytes, in bounds.
TEST(SparseGiant, FindsIndexArithmeticOf32Bits) {
  const Giant<std::uint8_t> giant;
  GateUpCase<std::uint8_t> c(giant.Matrix());
  const auto report = RunLast<faults::NarrowIndexGateUp<Nvfp4Kernel, Nvfp4Kernel, true>>(c);
  const FaultTally& foreign = report.faults[static_cast<int>(AccessKind::kWrongOwner)];
  EXPECT_GT(foreign.total, 0);
  EXPECT_GT(foreign.first.owner, Index{1} << 32);
  EXPECT_EQ(report.faults[static_cast<int>(AccessKind::kReadOutside)].total, 0);
  EXPECT_EQ(c.LastOutput(), static_cast<float>(kSide));  // no number of this layer shows it
}

}  // namespace
}  // namespace assay
