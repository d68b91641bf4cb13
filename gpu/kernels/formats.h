// The weight formats as policies: the group of columns under one scale, which group a column
// belongs to, how a code and a scale decode, which nibble holds which column.
#pragma once

#include "gpu/core/view.h"
#include "gpu/kernels/numeric.h"

namespace assay {

struct Fp4Payload {
  static constexpr float Code(std::uint32_t word, int nibble) {
    return DecodeE2m1(word >> (4 * nibble));
  }
};

// E4M3 scale a group of 16, times one FP32 scale a matrix.
struct Nvfp4Kernel : Fp4Payload {
  using RowMajorWord = std::uint32_t;  // eight columns
  static constexpr int kGroup = 16;
  static constexpr int GroupOf(int column, int) { return column / kGroup; }
  static constexpr float Scale(std::uint8_t code, float global) {
    return DecodeE4m3(code) * global;
  }
};

// E8M0 scale a group of 32, no matrix scale.
struct Mxfp4Kernel : Fp4Payload {
  static constexpr int kGroup = 32;
  static constexpr int GroupOf(int column, int) { return column / kGroup; }
  static constexpr float Scale(std::uint8_t code, float) { return DecodeE8m0Production(code); }
};

struct Mxfp4StandardKernel : Mxfp4Kernel {
  static constexpr float Scale(std::uint8_t code, float) { return DecodeE8m0Standard(code); }
};

// One column of an E4M3 payload: a type of its own, since a plain byte holds two FP4 columns.
enum class E4m3Code : std::uint8_t {};

// E4M3 payload, one FP32 scale a block of 128 rows and 128 columns. Production reads the NaN codes
// as 0.
struct Fp8Kernel {
  using RowMajorWord = E4m3Code;
  static constexpr int kBlock = 128;
  static constexpr float Code(E4m3Code code) {
    const float value = DecodeE4m3(static_cast<std::uint8_t>(code));
    return value == value ? value : 0.0f;
  }
};

struct Fp8StandardKernel : Fp8Kernel {
  static constexpr float Code(E4m3Code code) { return DecodeE4m3(static_cast<std::uint8_t>(code)); }
};

// No scales; one column a word.
struct Bf16Kernel {
  using RowMajorWord = std::uint16_t;
};

template <class Word>
using ScaleUnit = std::conditional_t<std::is_same_v<Word, E4m3Code>, float, std::uint8_t>;

// One expert's matrix as kernels find it in the weight tables. An FP4 `Word` holds 2 *
// sizeof(Word) adjacent columns, the even one in the low nibble.
template <class Word, bool kChecked>
struct WeightMatrix {
  View<const Word, kChecked> payload;
  View<const ScaleUnit<Word>, kChecked> scale;
  float global_scale = 0.0f;
  bool absent = false;  // no expert, or one of another rank: its products are zeros

  static constexpr WeightMatrix Absent() {
    WeightMatrix matrix;
    matrix.absent = true;
    return matrix;
  }
};

}  // namespace assay
