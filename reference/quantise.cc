#include "reference/quantise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "reference/bf16.h"
#include "reference/e8m0.h"
#include "reference/error.h"
#include "reference/small_float.h"

namespace assay {
namespace {

// The magnitudes of one block of weights.
struct Range {
  double low = 0, high = 0;  // both include zero
  double Absmax() const { return std::max(-low, high); }
  void Add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

class Quantiser {
 public:
  Quantiser(Container& m, std::span<const float> values, QuantiseRule rule)
      : m_(m), values_(values), rule_(rule) {}

  void Run() {
    SetGlobal();
    for (int row = 0; row < m_.ScaleRows(); ++row)
      for (int column = 0; column < m_.ScaleColumns(); ++column) Block(row, column);
  }

 private:
  // What an FP32 step of the rule makes of a real value.
  double Step(double value) const {
    return rule_ == QuantiseRule::kProduction ? static_cast<float>(value) : value;
  }

  void SetGlobal() {
    if (m_.scheme.global == GlobalScale::kNone) return;
    double absmax = 0;
    for (const float v : values_) absmax = std::max(absmax, std::fabs(double{v}));
    const double most = LargestOf(m_.scheme.element) * E4m3::Decode(E4m3::kMaxCode);
    const bool divides = m_.scheme.global == GlobalScale::kDivides;
    if (absmax > 0) m_.global_scale = static_cast<float>(divides ? most / absmax : absmax / most);
  }

  template <class Visit>
  void ForBlock(int block_row, int block_column, Visit visit) const {
    const ContainerScheme& s = m_.scheme;
    const int height = s.block_rows == 0 ? m_.rows : s.block_rows;
    const int width = s.block_columns == 0 ? m_.columns : s.block_columns;
    for (int r = block_row * height; r < std::min(m_.rows, (block_row + 1) * height); ++r)
      for (int c = block_column * width; c < std::min(m_.columns, (block_column + 1) * width); ++c)
        visit(r, c);
  }

  double ValueAt(int row, int column) const {
    return values_[std::size_t(row) * m_.columns + column];
  }

  void Block(int block_row, int block_column) {
    Range range;
    ForBlock(block_row, block_column, [&](int r, int c) { range.Add(ValueAt(r, c)); });
    const double scale = StoreScale(range, block_row, block_column);
    const int zero =
        m_.scheme.order == Int4Order::kNone ? 0 : StoreZero(range, scale, block_row, block_column);
    ForBlock(block_row, block_column, [&](int r, int c) {
      const double quotient = scale == 0 ? 0 : Step(ValueAt(r, c) / scale);
      WriteBits(m_.payload, PayloadBit(m_, r, c), ElementBits(m_.scheme.element),
                Encode(quotient, zero));
    });
  }

  // The full scale that the stored codes will mean, global scale included.
  double StoreScale(const Range& range, int block_row, int block_column) {
    if (m_.scheme.scale == ScaleCode::kNone) return 1;
    const bool int4 = m_.scheme.element == Element::kInt4;
    double wanted =
        Step(int4 ? (range.high - range.low) / 15 : range.Absmax() / LargestOf(m_.scheme.element));
    if (m_.scheme.global == GlobalScale::kMultiplies) wanted = Step(wanted / m_.global_scale);
    if (m_.scheme.global == GlobalScale::kDivides) wanted = Step(wanted * m_.global_scale);
    const std::int64_t index = ScaleIndex(m_, block_row * std::max(1, m_.scheme.block_rows),
                                          block_column * std::max(1, m_.scheme.block_columns));
    PutScale(wanted, m_.scales.data() + index * ScaleBytes(m_.scheme.scale));
    const double stored = ScaleValue(m_, index, CodePolicy::kStandard);
    if (m_.scheme.global == GlobalScale::kMultiplies) return Step(stored * m_.global_scale);
    return m_.scheme.global == GlobalScale::kDivides ? Step(stored / m_.global_scale) : stored;
  }

  void PutScale(double wanted, std::uint8_t* at) const {
    const auto put16 = [&](int bits) {
      at[0] = static_cast<std::uint8_t>(bits & 255);
      at[1] = static_cast<std::uint8_t>(bits >> 8);
    };
    const auto as_float = static_cast<float>(wanted);
    switch (m_.scheme.scale) {
      case ScaleCode::kFp32:
        std::memcpy(at, &as_float, sizeof as_float);
        break;
      case ScaleCode::kBf16:
        put16(DoubleToBf16(wanted));
        break;
      case ScaleCode::kFp16:
        put16(Fp16::EncodeSaturated(wanted));
        break;
      case ScaleCode::kE4m3:
        *at = static_cast<std::uint8_t>(E4m3::EncodeSaturated(wanted));
        break;
      case ScaleCode::kE8m0:
        *at = E8m0AtLeast(wanted);
        break;
      case ScaleCode::kNone:
        break;
    }
  }

  int StoreZero(const Range& range, double scale, int row, int block_column) {
    // GPTQ stores the zero point less one, so 0 cannot be stored; 1 to 16 can.
    const int least = m_.scheme.order == Int4Order::kGptq ? 1 : 0;
    const double wanted = scale == 0 ? 0 : std::nearbyint(-range.low / scale);
    const int zero = std::clamp(static_cast<int>(wanted), least, least + 15);
    WriteBits(m_.zeros, ZeroBit(m_, row, block_column * m_.scheme.block_columns), 4, zero - least);
    return zero;
  }

  int Encode(double value, int zero) const {
    switch (m_.scheme.element) {
      case Element::kE2m1:
        return E2m1::EncodeSaturated(value);
      case Element::kE2m3:
        return E2m3::EncodeSaturated(value);
      case Element::kE3m2:
        return E3m2::EncodeSaturated(value);
      case Element::kE4m3:
        return E4m3::EncodeSaturated(value);
      case Element::kE5m2:
        return E5m2::EncodeSaturated(value);
      case Element::kInt4:
        return static_cast<int>(std::clamp(std::nearbyint(value) + zero, 0.0, 15.0));
      case Element::kBf16:
        return DoubleToBf16(value);
      case Element::kFp16:
        return Fp16::EncodeSaturated(value);
    }
    return 0;
  }

  Container& m_;
  std::span<const float> values_;
  QuantiseRule rule_;
};

}  // namespace

double LargestOf(Element element) {
  switch (element) {
    case Element::kE2m1:
      return E2m1::Decode(E2m1::kMaxCode);
    case Element::kE2m3:
      return E2m3::Decode(E2m3::kMaxCode);
    case Element::kE3m2:
      return E3m2::Decode(E3m2::kMaxCode);
    case Element::kE4m3:
      return E4m3::Decode(E4m3::kMaxCode);
    case Element::kE5m2:
      return E5m2::Decode(E5m2::kMaxCode);
    case Element::kInt4:
      return 15;
    case Element::kBf16:
      return kBf16Max;
    case Element::kFp16:
      return Fp16::Decode(Fp16::kMaxCode);
  }
  return 0;
}

Container Quantise(const ContainerScheme& scheme, int rows, int columns,
                   std::span<const float> values, QuantiseRule rule, bool transposed) {
  if (values.size() != std::size_t(rows) * columns)
    throw UsageError("quantise: " + std::to_string(values.size()) + " values for " +
                     std::to_string(rows) + "x" + std::to_string(columns));
  for (const float v : values)
    if (!std::isfinite(v)) throw UsageError("quantise: a value is not finite");
  Container m{scheme, transposed, rows, columns, {}, {}, {}, 1.0f};
  SizeBuffers(m);
  Quantiser(m, values, rule).Run();
  return m;
}

}  // namespace assay
