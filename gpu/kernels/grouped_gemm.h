// Products of grouped rows on tensor cores: mma m16n8k16, BF16 operands, FP32 sums. FP8 codes are
// BF16 numbers; their scales are applied to the sum of each block of 128 columns.
#pragma once

#include "gpu/kernels/grouped_experts.h"

namespace assay {

// The BF16 operand of one weight.
template <class Format, bool kChecked>
constexpr std::uint32_t OperandBits(Context auto& context,
                                    const WeightMatrix<std::uint16_t, kChecked>& matrix,
                                    int columns, WeightAt at) {
  return matrix.payload.LoadFor(context, at, Index{at.row} * columns + at.column);
}
template <class Format, bool kChecked>
constexpr std::uint32_t OperandBits(Context auto& context,
                                    const WeightMatrix<E4m3Code, kChecked>& matrix, int columns,
                                    WeightAt at) {
  const E4m3Code code = matrix.payload.LoadFor(context, at, Index{at.row} * columns + at.column);
  return Bf16::Round(Format::Code(code)).bits;  // exact
}

// Four warps a block, eight outputs a warp, 64 slots a pass.
template <class Format_>
struct MmaProduct {
  using Format = Format_;
  using Act = Bf16;  // what down reads
  static constexpr bool kScaled = std::is_same_v<typename Format::RowMajorWord, E4m3Code>;
  static constexpr int kThreads = 128, kRowsPerWarp = 8, kDepth = 16;
  static constexpr int kRowsPerBlock = kThreads / kWarpSize * kRowsPerWarp;
  static constexpr int kTile = 16, kTiles = 4;

  template <bool kChecked, class Matrix, class Value, class Store>
  static constexpr void Run(Context auto& context, const ExpertGroups<kChecked>& groups,
                            const Matrix& matrix, int rows, int columns, const Value& value,
                            const Store& store) {
    const GroupRange range = RangeOfGroup(context, groups);
    const int first =
        context.Block().x * kRowsPerBlock + context.Thread() / kWarpSize * kRowsPerWarp;
    if (first >= rows) return;  // the whole warp; no block barrier follows
    for (int from = range.begin; from < range.end; from += kTile * kTiles) {
      Pass pass{rows, columns, first, Least(kTiles, CeilDiv(range.end - from, kTile))};
      pass.TakeSlots(context, groups, {from, range.end});
      pass.Multiply(context, matrix, value);
      pass.Give(context, store);
    }
  }

 private:
  // One lane's part: slots lane / 4 and lane / 4 + 8 of each tile; columns (of an operand) and
  // outputs (of a sum) 2 (lane % 4) and the next.
  struct Pass {
    int rows, columns, first, tiles;
    int slots[kTiles][2] = {};
    float sums[kTiles][4] = {};

    template <bool kChecked>
    constexpr void TakeSlots(Context auto& context, const ExpertGroups<kChecked>& groups,
                             GroupRange range) {
      for (int tile = 0; tile < tiles; ++tile)
        for (int half = 0; half < 2; ++half) {
          const int at = range.begin + tile * kTile + half * 8 + LaneRow(context);
          slots[tile][half] =
              at < range.end ? static_cast<int>(groups.order.Load(context, at)) : -1;
        }
    }

    template <class Matrix, class Value>
    constexpr void Multiply(Context auto& context, const Matrix& matrix, const Value& value) {
      if constexpr (!kScaled) {
        AddProducts(context, matrix, value, {0, columns}, sums);
      } else {
        const Index band = Index{first / Format::kBlock} * CeilDiv(columns, Format::kBlock);
        for (int at = 0; at < columns; at += Format::kBlock) {
          float part[kTiles][4] = {};
          AddProducts(context, matrix, value, {at, Least(at + Format::kBlock, columns)}, part);
          if (matrix.absent) continue;
          const float scale =
              matrix.scale.LoadFor(context, {first, at}, band + at / Format::kBlock);
          for (int tile = 0; tile < kTiles; ++tile)
            for (int i = 0; i < 4; ++i) sums[tile][i] += part[tile][i] * scale;
        }
      }
    }

    template <class Store>
    constexpr void Give(Context auto& context, const Store& store) const {
      const int output = first + LanePair(context);
      for (int tile = 0; tile < tiles; ++tile)
        for (int i = 0; i < 4; ++i)
          if (slots[tile][i / 2] >= 0 && output + i % 2 < rows)
            store(slots[tile][i / 2], output + i % 2, sums[tile][i]);
    }

   private:
    static constexpr int LaneRow(const auto& context) { return context.Thread() % kWarpSize / 4; }
    static constexpr int LanePair(const auto& context) { return context.Thread() % 4 * 2; }

    template <class Matrix, class Value>
    constexpr void AddProducts(Context auto& context, const Matrix& matrix, const Value& value,
                               GroupRange range, float (&to)[kTiles][4]) const {
      const int weight_row = first + LaneRow(context);
      const auto weights = [&](int column) {
        return PairOf(column, range.end, weight_row < rows && !matrix.absent, [&](int k) {
          return OperandBits<Format>(context, matrix, columns, {weight_row, k});
        });
      };
      for (int at = range.begin; at < range.end; at += kDepth) {
        const int column = at + LanePair(context);
        const std::uint32_t b[2] = {weights(column), weights(column + 8)};
        for (int tile = 0; tile < kTiles; ++tile) {
          if (tile >= tiles) continue;  // the same in every lane
          std::uint32_t a[4] = {};
          for (int i = 0; i < 4; ++i) {
            const int slot = slots[tile][i % 2];
            a[i] = PairOf(column + i / 2 * 8, range.end, slot >= 0,
                          [&](int k) { return static_cast<std::uint32_t>(value(slot, k).bits); });
          }
          context.Mma(to[tile], a, b);
        }
      }
    }

    // Two neighbouring columns, zeros from `end` on.
    template <class Bits>
    static constexpr std::uint32_t PairOf(int column, int end, bool exists, const Bits& bits) {
      const std::uint32_t low = exists && column < end ? bits(column) : 0;
      const std::uint32_t high = exists && column + 1 < end ? bits(column + 1) : 0;
      return low | high << 16;
    }
  };
};

}  // namespace assay
