// Quantised matrices as checkpoints hold them: which bits hold a weight, which scale serves it, and
// the exact value. A scheme is data; one more scheme is one more row of the table in containers.cc.
// A matrix is [rows = outputs, columns = inputs].
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "reference/problem.h"

namespace assay {

enum class Element { kE2m1, kE2m3, kE3m2, kE4m3, kE5m2, kInt4, kBf16, kFp16 };
enum class ScaleCode { kNone, kFp32, kBf16, kFp16, kE4m3, kE8m0 };
// ModelOpt stores a factor, compressed-tensors a divisor; both FP32, one a matrix.
enum class GlobalScale { kNone, kMultiplies, kDivides };
// Where eight INT4 codes of a 32-bit word lie. GPTQ: eight inputs of one output, the first in the
// low nibble, words [columns/8, rows]; its zero points are stored less one, eight outputs a word.
// AWQ: eight outputs of one input, nibbles hold outputs 0 2 4 6 1 3 5 7, words [columns, rows/8].
enum class Int4Order { kNone, kGptq, kAwq };

struct ContainerScheme {
  std::string_view name;
  Element element = Element::kBf16;
  ScaleCode scale = ScaleCode::kNone;
  int block_rows = 1, block_columns = 1;  // weights of one scale; 0: the whole row; ragged at edges
  GlobalScale global = GlobalScale::kNone;
  Int4Order order = Int4Order::kNone;
};

std::span<const ContainerScheme> ContainerSchemes();
// Throws UsageError that lists the names.
const ContainerScheme& SchemeNamed(std::string_view name);

struct Container {
  ContainerScheme scheme;
  bool transposed = false;  // payload and scales [columns.., rows]; INT4 orders fix their own
  int rows = 0, columns = 0;
  std::vector<std::uint8_t> payload, scales, zeros;  // little endian
  float global_scale = 1.0f;

  // The grid of scales.
  int ScaleRows() const;
  int ScaleColumns() const;
};

// Bits of an element; sizes in bytes that the scheme wants for these dimensions.
int ElementBits(Element element);
int ScaleBytes(ScaleCode code);
// Resizes the three buffers, filled with zeros. Throws UsageError where the dimensions do not fit
// the packing (odd columns of a nibble format, INT4 that does not fill its words or groups).
void SizeBuffers(Container& matrix);

// The first bit of the weight's code in the payload, of its zero point in zeros, and the index of
// the scale (in units of ScaleBytes) that serves it.
std::int64_t PayloadBit(const Container& matrix, int row, int column);
std::int64_t ZeroBit(const Container& matrix, int row, int column);
std::int64_t ScaleIndex(const Container& matrix, int row, int column);

// One code word: `width` bits (4, 6, 8 or 16) from bit `at`.
int ReadBits(std::span<const std::uint8_t> bytes, std::int64_t at, int width);
void WriteBits(std::span<std::uint8_t> bytes, std::int64_t at, int width, int code);

double ScaleValue(const Container& matrix, std::int64_t index, CodePolicy policy);
// The exact real weight (in double: every product of these codes fits, a quotient by a divisor is
// rounded once).
double ExactWeight(const Container& matrix, int row, int column, CodePolicy policy);
std::vector<double> ExactWeights(const Container& matrix, CodePolicy policy);

}  // namespace assay
