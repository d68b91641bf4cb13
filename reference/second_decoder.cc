#include "reference/second_decoder.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace assay {
namespace {

enum class Top { kFinite, kOneNan, kIeee };

// IEEE bits from the fields; a subnormal is shifted up until its leading one drops out.
double FromFields(int code, int exponent_bits, int mantissa_bits, Top top) {
  const int bias = (1 << (exponent_bits - 1)) - 1, last = (1 << exponent_bits) - 1;
  std::uint64_t mantissa = code & ((1 << mantissa_bits) - 1);
  int exponent = code >> mantissa_bits & last;
  const std::uint64_t sign = std::uint64_t(code >> (mantissa_bits + exponent_bits) & 1) << 63;
  const bool ones = mantissa == (1u << mantissa_bits) - 1;
  if (exponent == last && top == Top::kIeee)
    return std::bit_cast<double>(sign | 0x7FFull << 52 | mantissa << (52 - mantissa_bits));
  if (exponent == last && ones && top == Top::kOneNan)
    return std::bit_cast<double>(sign | 0x7FF8ull << 48);
  if (exponent == 0) {
    if (mantissa == 0) return std::bit_cast<double>(sign);
    exponent = 1;
    for (; mantissa >> mantissa_bits == 0; --exponent) mantissa <<= 1;
    mantissa &= (1u << mantissa_bits) - 1;
  }
  const auto biased = static_cast<std::uint64_t>(exponent - bias + 1023);
  return std::bit_cast<double>(sign | biased << 52 | mantissa << (52 - mantissa_bits));
}

std::vector<double> Table(int exponent_bits, int mantissa_bits, Top top) {
  std::vector<double> values;
  for (int code = 0; code < 2 << (exponent_bits + mantissa_bits); ++code)
    values.push_back(FromFields(code, exponent_bits, mantissa_bits, top));
  return values;
}

// The exponent field of a double, and nothing else.
std::vector<double> PowerTable() {
  std::vector<double> values;
  for (std::uint64_t code = 0; code < 255; ++code)
    values.push_back(std::bit_cast<double>((code + 1023 - 127) << 52));
  values.push_back(std::bit_cast<double>(0x7FF8ull << 48));
  return values;
}

const char* ElementName(Element element) {
  static constexpr const char* kNames[] = {"e2m1", "e2m3",  "e3m2", "e4m3",
                                           "e5m2", nullptr, "bf16", "fp16"};
  return kNames[static_cast<int>(element)];
}

bool SameValue(double a, double b) {
  if (a != a || b != b) return a != a && b != b;
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Walks the payload: every code in storage order, with the weight that the container's
// documentation says it is.
class Walk {
 public:
  Walk(const Container& m, const DecodeTables& tables)
      : m_(m), tables_(tables), weights_(std::size_t(m.rows) * m.columns) {}

  std::vector<double> Run() {
    if (m_.scheme.order == Int4Order::kGptq)
      Gptq();
    else if (m_.scheme.order == Int4Order::kAwq)
      Awq();
    else
      Plain();
    return std::move(weights_);
  }

 private:
  std::uint32_t Word(const std::vector<std::uint8_t>& bytes, std::size_t word) const {
    std::uint32_t value;
    std::memcpy(&value, bytes.data() + 4 * word, 4);
    return value;
  }

  void Put(int row, int column, double value) {
    const int height = m_.scheme.block_rows, width = m_.scheme.block_columns;
    if (m_.scheme.scale != ScaleCode::kNone)
      value *= Scale(height == 0 ? 0 : row / height, width == 0 ? 0 : column / width);
    if (m_.scheme.global == GlobalScale::kMultiplies) value *= m_.global_scale;
    if (m_.scheme.global == GlobalScale::kDivides) value /= m_.global_scale;
    weights_[std::size_t(row) * m_.columns + column] = value;
  }

  double Scale(int block_row, int block_column) const {
    const int down = m_.scheme.block_rows == 0
                         ? 1
                         : m_.rows / m_.scheme.block_rows + (m_.rows % m_.scheme.block_rows != 0);
    const int across =
        m_.scheme.block_columns == 0
            ? 1
            : m_.columns / m_.scheme.block_columns + (m_.columns % m_.scheme.block_columns != 0);
    const bool turned = m_.transposed || m_.scheme.order != Int4Order::kNone;
    const std::size_t at = turned ? std::size_t(block_column) * down + block_row
                                  : std::size_t(block_row) * across + block_column;
    if (m_.scheme.scale == ScaleCode::kFp32) return std::bit_cast<float>(Word(m_.scales, at));
    if (m_.scheme.scale == ScaleCode::kE4m3) return tables_.at("e4m3")[m_.scales[at]];
    if (m_.scheme.scale == ScaleCode::kE8m0) return tables_.at("e8m0")[m_.scales[at]];
    const int code = m_.scales[2 * at] + 256 * m_.scales[2 * at + 1];
    return tables_.at(m_.scheme.scale == ScaleCode::kBf16 ? "bf16" : "fp16")[code];
  }

  // Codes of 4, 6, 8 and 16 bits: some whole bytes hold some whole codes, and those stay together
  // when the packing is transposed.
  void Plain() {
    const std::vector<double>& table = tables_.at(ElementName(m_.scheme.element));
    const int codes = table.size() == 16 ? 2 : table.size() == 64 ? 4 : 1;
    const int bytes = table.size() == 64 ? 3 : table.size() == 65536 ? 2 : 1;
    const int units = m_.columns / codes;
    std::size_t at = 0;
    for (int outer = 0; outer < (m_.transposed ? units : m_.rows); ++outer)
      for (int inner = 0; inner < (m_.transposed ? m_.rows : units); ++inner) {
        std::uint32_t word = 0;
        for (int b = 0; b < bytes; ++b) word |= std::uint32_t(m_.payload[at++]) << 8 * b;
        for (int c = 0; c < codes; ++c, word /= table.size() < 256 ? table.size() : 1)
          Put(m_.transposed ? inner : outer, (m_.transposed ? outer : inner) * codes + c,
              table[word % table.size()]);
      }
  }

  // qweight [columns/8, rows], qzeros [groups, rows/8]: zero point less one.
  void Gptq() {
    for (int eight = 0; eight < m_.columns / 8; ++eight)
      for (int row = 0; row < m_.rows; ++row) {
        std::uint32_t word = Word(m_.payload, std::size_t(eight) * m_.rows + row);
        for (int i = 0; i < 8; ++i, word >>= 4) {
          const int group = (8 * eight + i) / m_.scheme.block_columns;
          const std::uint32_t zeros = Word(m_.zeros, std::size_t(group) * (m_.rows / 8) + row / 8);
          Put(row, 8 * eight + i, double(word & 15) - double((zeros >> row % 8 * 4 & 15) + 1));
        }
      }
  }

  // qweight [columns, rows/8], qzeros [groups, rows/8], nibbles 0 2 4 6 1 3 5 7.
  void Awq() {
    static constexpr int kOutputs[] = {0, 2, 4, 6, 1, 3, 5, 7};
    for (int column = 0; column < m_.columns; ++column)
      for (int eight = 0; eight < m_.rows / 8; ++eight) {
        std::uint32_t word = Word(m_.payload, std::size_t(column) * (m_.rows / 8) + eight);
        const int group = column / m_.scheme.block_columns;
        std::uint32_t zeros = Word(m_.zeros, std::size_t(group) * (m_.rows / 8) + eight);
        for (int i = 0; i < 8; ++i, word >>= 4, zeros >>= 4)
          Put(8 * eight + kOutputs[i], column, double(word & 15) - double(zeros & 15));
      }
  }

  const Container& m_;
  const DecodeTables& tables_;
  std::vector<double> weights_;
};

}  // namespace

DecodeTables SecondTables() {
  return {{"e2m1", Table(2, 1, Top::kFinite)}, {"e2m3", Table(2, 3, Top::kFinite)},
          {"e3m2", Table(3, 2, Top::kFinite)}, {"e4m3", Table(4, 3, Top::kOneNan)},
          {"e5m2", Table(5, 2, Top::kIeee)},   {"fp16", Table(5, 10, Top::kIeee)},
          {"bf16", Table(8, 7, Top::kIeee)},   {"e8m0", PowerTable()}};
}

std::optional<std::string> FirstDifference(const DecodeTables& a, const DecodeTables& b) {
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end()) return name + ": only one decoder has it";
    if (other->second.size() != values.size()) return name + ": tables of different size";
    for (std::size_t code = 0; code < values.size(); ++code)
      if (!SameValue(values[code], other->second[code]))
        return name + " code " + std::to_string(code) + ": " + std::to_string(values[code]) +
               " and " + std::to_string(other->second[code]);
  }
  if (a.size() != b.size()) return "tables: one decoder has more formats";
  return std::nullopt;
}

std::vector<double> SecondWeights(const Container& matrix, const DecodeTables& tables) {
  return Walk(matrix, tables).Run();
}

}  // namespace assay
