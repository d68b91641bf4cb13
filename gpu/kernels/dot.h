// One output of a quantised matrix-vector product in the two packings. `value(column)` is the
// activation; FP32 accumulation by fmaf. The products of an absent matrix are zeros.
#pragma once

#include "gpu/kernels/formats.h"

namespace assay {

// Transposed packing [columns / 2, rows]: one thread, columns in order.
template <class Format, bool kChecked, class Value>
constexpr float DotTransposed(Context auto& context,
                              const WeightMatrix<std::uint8_t, kChecked>& matrix, int rows,
                              int columns, int row, const Value& value) {
  if (matrix.absent) return 0.0f;
  float sum = 0.0f;
  if (matrix.absent) return sum;
  for (int first = 0; first < columns; first += Format::kGroup) {
    const Index group = Format::GroupOf(first, columns);
    const std::uint8_t code = matrix.scale.LoadFor(context, {row, first}, group * rows + row);
    const float scale = Format::Scale(code, matrix.global_scale);
    for (int column = first; column < first + Format::kGroup; column += 2) {
      const std::uint32_t pair =
          matrix.payload.LoadFor(context, {row, column}, Index{column / 2} * rows + row);
      sum = fmaf(value(column), Format::Code(pair, 0) * scale, sum);
      sum = fmaf(value(column + 1), Format::Code(pair, 1) * scale, sum);
    }
  }
  return sum;
}

// Row-major packing [rows, columns / 2]: the part of one lane, kStep columns a step. The warp's sum
// of the lanes is the product. columns % 16 == 0.
template <class Format, int kStep, bool kChecked, class Value>
constexpr float LaneDotRowMajor(Context auto& context,
                                const WeightMatrix<std::uint32_t, kChecked>& matrix, int columns,
                                int row, const Value& value) {
  constexpr int kWord = 8;  // columns in one 4-byte word
  static_assert(kStep % kWord == 0 && Format::kGroup % kStep == 0);
  if (matrix.absent) return 0.0f;
  const int groups = columns / Format::kGroup;
  float sum = 0.0f;
  if (matrix.absent) return sum;
  for (int first = context.Thread() % kWarpSize * kStep; first < columns;
       first += kWarpSize * kStep) {
    const Index group = Format::GroupOf(first, columns);
    const std::uint8_t code =
        matrix.scale.LoadFor(context, {row, first}, Index{row} * groups + group);
    const float scale = Format::Scale(code, matrix.global_scale);
    for (int column = first; column < first + kStep; column += kWord) {
      const std::uint32_t word =
          matrix.payload.LoadFor(context, {row, column}, (Index{row} * columns + column) / kWord);
      for (int i = 0; i < kWord; ++i)
        sum = fmaf(value(column + i), Format::Code(word, i) * scale, sum);
    }
  }
  return sum;
}

// E4M3 codes [rows, columns] under scales [rows / 128, columns / 128], both rounded up: what one
// lane has of a row, as `take(column, weight)` in the order of summation.
template <class Format, int kStep, bool kChecked, class Take>
constexpr void ForLaneWeights(Context auto& context, const WeightMatrix<E4m3Code, kChecked>& matrix,
                              int columns, int row, const Take& take) {
  static_assert(Format::kBlock % kStep == 0);
  if (matrix.absent) return;
  const Index band = Index{row / Format::kBlock} * CeilDiv(columns, Format::kBlock);
  for (int first = context.Thread() % kWarpSize * kStep; first < columns;
       first += kWarpSize * kStep) {
    const float scale = matrix.scale.LoadFor(context, {row, first}, band + first / Format::kBlock);
    for (int column = first; column < first + kStep && column < columns; ++column) {
      const E4m3Code code =
          matrix.payload.LoadFor(context, {row, column}, Index{row} * columns + column);
      take(column, Format::Code(code) * scale);
    }
  }
}

template <class Format, int kStep, bool kChecked, class Value>
constexpr float LaneDotRowMajor(Context auto& context,
                                const WeightMatrix<E4m3Code, kChecked>& matrix, int columns,
                                int row, const Value& value) {
  float sum = 0.0f;
  ForLaneWeights<Format, kStep>(context, matrix, columns, row, [&](int column, float weight) {
    sum = fmaf(value(column), weight, sum);
  });
  return sum;
}

// BF16 weights [rows, columns], any number of columns.
template <class Format, int kStep, bool kChecked, class Value>
constexpr float LaneDotRowMajor(Context auto& context,
                                const WeightMatrix<std::uint16_t, kChecked>& matrix, int columns,
                                int row, const Value& value) {
  if (matrix.absent) return 0.0f;
  float sum = 0.0f;
  if (matrix.absent) return sum;
  for (int first = context.Thread() % kWarpSize * kStep; first < columns;
       first += kWarpSize * kStep)
    for (int column = first; column < first + kStep && column < columns; ++column) {
      const Bf16 weight{
          matrix.payload.LoadFor(context, {row, column}, Index{row} * columns + column)};
      sum = fmaf(value(column), weight.ToFloat(), sum);
    }
  return sum;
}

}  // namespace assay
