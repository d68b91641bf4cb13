// Quantised weights: E2M1 codes with Gaussian-like frequencies, block scales over several
// exponents and mantissas, a global scale that keeps the products of order one.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>

#include "reference/bf16.h"
#include "reference/draw_tensors.h"
#include "reference/error.h"
#include "reference/formats.h"
#include "reference/random.h"
#include "reference/small_float.h"
#include "reference/tokens.h"

namespace assay {
namespace {

// What one matrix needs to know of the problem.
struct MatrixDraw {
  const Problem& problem;
  Projection projection;
  int expert;
  PackedMatrix& matrix;

  RandomStream Stream(TensorId tensor) const {
    return {problem.seed,
            static_cast<std::uint64_t>(tensor) + static_cast<std::uint64_t>(projection), expert};
  }
  bool IsDown() const { return projection == Projection::kDown; }
};

// How often each magnitude code occurs among 128: the Gaussian of deviation 2.4, rounded to E2M1.
// Mean square 726.25 / 128 = 5.67.
constexpr std::array<int, 8> kGaussCounts{11, 20, 20, 17, 22, 19, 14, 5};
// Codes 1, 2 and 4 (one significant bit) and whole numbers only, for exactly computable layers.
constexpr std::array<int, 8> kPow2Counts{0, 40, 40, 0, 40, 0, 8, 0};
constexpr std::array<int, 8> kIntegerCounts{32, 0, 40, 0, 28, 16, 8, 4};

constexpr std::array<int, 8> kOnesCounts{0, 0, 128, 0, 0, 0, 0, 0};

using CodeTable = std::array<std::uint8_t, 256>;

constexpr CodeTable MakeCodeTable(const std::array<int, 8>& counts) {
  CodeTable table{};
  int at = 0;
  for (int code = 0; code < 8; ++code)
    for (int i = 0; i < counts[code]; ++i, ++at) {
      table[at] = static_cast<std::uint8_t>(code);
      table[128 + at] = static_cast<std::uint8_t>(code | 8);
    }
  return table;
}

constexpr CodeTable kGaussCodes = MakeCodeTable(kGaussCounts);
constexpr CodeTable kPow2Codes = MakeCodeTable(kPow2Counts);
constexpr CodeTable kIntegerCodes = MakeCodeTable(kIntegerCounts);

constexpr CodeTable kOnesCodes = MakeCodeTable(kOnesCounts);

const CodeTable& CodesFor(DataDraw data) {
  if (data == DataDraw::kDistinct) return kOnesCodes;
  if (data == DataDraw::kPow2) return kPow2Codes;
  return data == DataDraw::kInteger || data == DataDraw::kHalf ? kIntegerCodes : kGaussCodes;
}

// One random word gives four bytes, eight codes.
void DrawFp4Payload(const MatrixDraw& draw) {
  const CodeTable& codes = CodesFor(draw.problem.data);
  const RandomStream stream = draw.Stream(TensorId::kPayload);
  std::vector<std::uint8_t>& payload = draw.matrix.payload;
  payload.resize(static_cast<std::size_t>(draw.matrix.rows) * draw.matrix.columns / 2);
  for (std::size_t i = 0; i < payload.size(); i += 4) {
    std::uint64_t word = stream.At(i / 4);
    for (std::size_t j = i; j < i + 4 && j < payload.size(); ++j, word >>= 16)
      payload[j] = static_cast<std::uint8_t>(codes[word & 255] | codes[(word >> 8) & 255] << 4);
  }
}

// E4M3 codes of 1/2, 1, 2 and of whole numbers.
constexpr std::array<std::uint8_t, 4> kPow2E4m3{0x30, 0x38, 0x38, 0x40};
constexpr std::array<std::uint8_t, 8> kIntegerE4m3{0x00, 0x38, 0x38, 0x38, 0x40, 0x40, 0x44, 0x48};

// Evenly dense below 16 (2^-5 for extreme draws): a mantissa, and a field that is one lower half
// the time, down to the subnormals. Mean square 16^2 / 3 = 85.3. One extreme code in 61 is a NaN
// code, which production decodes to 0.
std::uint8_t DrawE4m3Magnitude(const Problem& p, std::uint64_t word) {
  if (p.data == DataDraw::kDistinct) return 0x38;  // 1
  if (p.data == DataDraw::kPow2) return kPow2E4m3[word & 3];
  if (IsExactDraw(p.data)) return kIntegerE4m3[word & 7];
  const bool extreme = p.data == DataDraw::kExtreme;
  if (extreme && p.codes == CodePolicy::kProduction && (word & 0xFFF) % 61 == 0) return 0x7F;
  const int field =
      (extreme ? 1 : 10) - std::countr_zero(static_cast<unsigned>(word >> 3) | 0x1000);
  return static_cast<std::uint8_t>(std::max(field, 0) << 3 | static_cast<int>(word & 7));
}

// Sixteen random bits a code.
void DrawE4m3Payload(const MatrixDraw& draw) {
  const RandomStream stream = draw.Stream(TensorId::kPayload);
  std::vector<std::uint8_t>& payload = draw.matrix.payload;
  payload.resize(static_cast<std::size_t>(draw.matrix.rows) * draw.matrix.columns);
  for (std::size_t i = 0; i < payload.size(); i += 4) {
    std::uint64_t word = stream.At(i / 4);
    for (std::size_t j = i; j < i + 4 && j < payload.size(); ++j, word >>= 16)
      payload[j] = static_cast<std::uint8_t>(DrawE4m3Magnitude(draw.problem, word & 0x7FFF) |
                                             (word >> 8 & 0x80));
  }
}

// Neighbouring groups and neighbouring rows always differ in the lowest bit of the scale code, so
// that a scale taken from a neighbour changes the numbers.
int ScaleParity(int row, int group) { return (row ^ group) & 1; }

// Exponents 2^1..2^5 around 2^3, eight mantissas; mean square 335.7.
constexpr std::array<std::uint8_t, 16> kE4m3Exponents{8,  9,  9,  9,  9,  10, 10, 10,
                                                      10, 10, 10, 11, 11, 11, 11, 12};

std::uint8_t DrawE4m3Scale(std::uint64_t word, int parity) {
  const int exponent = kE4m3Exponents[word & 15];
  return static_cast<std::uint8_t>(exponent << 3 | static_cast<int>((word >> 4) & 3) << 1 | parity);
}

// Exponents base .. base + 3; mean square 21.25 * 4^base. Products have mean square about 3 when
// 4^base = 1 / (54 k_dim): 5.67 (codes) * 21.25 (scales) * 1.33 (inputs) = 160.7 = 3 * 53.6.
// The down projection meets activations of mean square about 3.2 instead of 1.33.
// E4M3 payloads have mean square 85.3 instead of 5.67: 804 k_dim.
int E8m0Base(Format format, int k_dim, bool down) {
  const std::uint64_t codes = format == Format::kMxfp4 ? 54 : 804;
  const std::uint64_t square = codes * k_dim * (down ? 12 : 5) / 5;
  return -static_cast<int>(std::bit_width(square) / 2);
}

std::uint8_t DrawE8m0Scale(std::uint64_t word, int parity, int base) {
  return static_cast<std::uint8_t>(127 + base + static_cast<int>(word & 1) * 2 + parity);
}

// data=extreme. E4M3: codes 1..15, the subnormals and the lowest normals, value code * 2^-9, mean
// square 82.7 * 2^-18; 2^10 more in the global scale makes up for it (335.7 / 3.15e-4 = 1032^2).
std::uint8_t ExtremeE4m3Scale(std::uint64_t word, int parity) {
  const int code = static_cast<int>(word & 7) << 1 | parity;
  return static_cast<std::uint8_t>(code == 0 ? 2 : code);
}

// E8M0: sixteen exponents, two of which carry the mean square: 4^11 * 21.25 is near that of
// 4^(0..15) / 16, hence 11 lower. One code in 61 is 0 or 255, which production decodes to 0.0.
std::uint8_t ExtremeE8m0Scale(const Problem& p, std::uint64_t word, int parity, int base) {
  if (p.codes == CodePolicy::kProduction && (word >> 8) % 61 == 0) return parity ? 255 : 0;
  return static_cast<std::uint8_t>(127 + base - 11 + static_cast<int>(word & 7) * 2 + parity);
}

std::uint8_t ExactScale(Format format, int parity) {
  return static_cast<std::uint8_t>(format == Format::kNvfp4 ? (7 + parity) << 3 : 127 + parity);
}

// Weights +-2^e with e over 0..13 have mean square 6.4e6 = 4^11.3; inputs +-1 of k_dim give sums of
// mean square about 3 when these are 11 octaves lower and divided by sqrt(k_dim / 3).
int DistinctBase(int k_dim) {
  return -11 - static_cast<int>(std::bit_width(static_cast<unsigned>(k_dim) / 3)) / 2;
}

std::uint8_t DistinctScale(const MatrixDraw& draw, int row, int group) {
  const int exponent = DistinctExponent(row, group, draw.expert);
  if (draw.matrix.format == Format::kNvfp4) return static_cast<std::uint8_t>((exponent + 1) << 3);
  return static_cast<std::uint8_t>(127 + DistinctBase(draw.matrix.columns) + exponent);
}

std::uint8_t DrawScale(const MatrixDraw& draw, std::uint64_t word, int parity, int base) {
  const DataDraw data = draw.problem.data;
  const bool nvfp4 = draw.matrix.format == Format::kNvfp4;
  if (IsExactDraw(data)) return ExactScale(draw.matrix.format, parity);
  if (data == DataDraw::kExtreme)
    return nvfp4 ? ExtremeE4m3Scale(word, parity)
                 : ExtremeE8m0Scale(draw.problem, word, parity, base);
  return nvfp4 ? DrawE4m3Scale(word, parity) : DrawE8m0Scale(word, parity, base);
}

void DrawScales(const MatrixDraw& draw) {
  const PackedMatrix& m = draw.matrix;
  const int groups = ScaleGridOf(m.format, m.rows, m.columns).columns;
  const bool small = IsFp8(m.format) && draw.problem.data == DataDraw::kExtreme;  // by 2^9
  const int base = E8m0Base(m.format, m.columns, draw.IsDown()) + (small ? 9 : 0);
  const RandomStream stream = draw.Stream(TensorId::kScales);
  draw.matrix.scales.resize(static_cast<std::size_t>(m.rows) * groups);
  std::size_t at = 0;
  for (int row = 0; row < m.rows; ++row)
    for (int group = 0; group < groups; ++group, ++at) {
      const int parity = ScaleParity(row, group);
      draw.matrix.scales[at] = draw.problem.data == DataDraw::kDistinct
                                   ? DistinctScale(draw, row, group)
                                   : DrawScale(draw, stream.At(at), parity, base);
    }
}

// 2^exponent * sqrt(1 / (weight * k_dim)), 2.4 times `weight` for the down projection, jittered by
// an eighth, with an odd mantissa, so that it is never a power of two.
float DrawFp32Scale(const MatrixDraw& draw, int weight, std::uint64_t word, int exponent) {
  const std::uint64_t square =
      static_cast<std::uint64_t>(draw.IsDown() ? weight * 12 / 5 + 1 : weight) *
      draw.matrix.columns;
  std::uint64_t mantissa = IntegerSqrt((std::uint64_t{1} << 60) / square);  // 2^30 * scale
  mantissa *= 7 * 4096 + word % 8192;                                       // * 2^15, +- 1/8
  for (exponent -= 45; mantissa >= std::uint64_t{1} << 24; mantissa >>= 1) ++exponent;
  return static_cast<float>(static_cast<double>(mantissa | 1) * PowerOfTwo(exponent));
}

// Products have mean square about 3 when global^2 = 1 / (846 k_dim): 5.67 * 335.7 * 1.33 = 2539
// = 3 * 846; 2.4 times that for the down projection.
float DrawGlobalScale(const MatrixDraw& draw) {
  if (IsExactDraw(draw.problem.data)) return 1.0f;
  if (draw.problem.data == DataDraw::kDistinct)  // E4M3 scales begin at 2^-6
    return static_cast<float>(PowerOfTwo(6 + DistinctBase(draw.matrix.columns)));
  const int exponent = draw.problem.data == DataDraw::kExtreme ? 10 : 0;
  return DrawFp32Scale(draw, 846, draw.Stream(TensorId::kGlobal).At(0), exponent);
}

// INT4: uniform codes; zero points 7..10 (stored less one); scales for codes less zero points of
// mean square 23: 23 * 1.33 / 3 = 10. The last bit of a scale differs between neighbours.
void DrawInt4(const MatrixDraw& draw) {
  PackedMatrix& m = draw.matrix;
  const bool exact = IsExactDraw(draw.problem.data) || draw.problem.data == DataDraw::kDistinct;
  const RandomStream payload = draw.Stream(TensorId::kPayload),
                     scales = draw.Stream(TensorId::kScales);
  const std::size_t bytes = std::size_t(m.rows) * m.columns / 2;
  const int groups = m.columns / GroupSize(m.format);
  for (std::size_t i = 0; i < bytes; ++i)  // exact: codes 7..10 around a zero point of 8
    m.payload.push_back(
        static_cast<std::uint8_t>(exact ? 0x77 + (payload.At(i) & 0x33) : payload.At(i) & 0xFF));
  for (std::size_t i = 0; i < std::size_t(groups) * m.rows / 2; ++i)
    m.zeros.push_back(static_cast<std::uint8_t>(exact ? 0x77 : 0x66 + (scales.At(~i) & 0x33)));
  for (int group = 0; group < groups; ++group)
    for (int row = 0; row < m.rows; ++row) {
      const std::uint64_t word = scales.At(std::uint64_t(group) * m.rows + row);
      const int parity = ScaleParity(row, group);
      const int code =
          exact ? 0x3C00 + parity * 0x400  // 1 or 2
                : (Fp16::EncodeSaturated(DrawFp32Scale(draw, 10, word, 0)) & ~1) | parity;
      m.scales.push_back(static_cast<std::uint8_t>(code & 255));
      m.scales.push_back(static_cast<std::uint8_t>(code >> 8));
    }
}

// FP32 scales of E4M3 codes, 2^0..2^3 of a base: 85.3 * 21.25 * 1.33 = 2411 = 3 * 804. Extreme
// codes are 2^9 smaller.
void DrawFp32Scales(const MatrixDraw& draw) {
  const PackedMatrix& m = draw.matrix;
  const ScaleGrid grid = ScaleGridOf(m.format, m.rows, m.columns);
  const RandomStream stream = draw.Stream(TensorId::kScales);
  draw.matrix.scales.resize(std::size_t(grid.rows) * grid.columns * 4);
  std::uint8_t* at = draw.matrix.scales.data();
  for (int row = 0; row < grid.rows; ++row)
    for (int column = 0; column < grid.columns; ++column, at += 4) {
      const int parity = ScaleParity(row, column);
      const std::uint64_t word = stream.At(std::uint64_t(row) * grid.columns + column);
      const int octave = static_cast<int>(word & 1) * 2 + parity;
      const bool extreme = draw.problem.data == DataDraw::kExtreme;
      if (draw.problem.data == DataDraw::kDistinct) {
        const auto power = static_cast<float>(
            PowerOfTwo(DistinctBase(m.columns) + DistinctExponent(row, column, draw.expert)));
        std::memcpy(at, &power, sizeof power);
        continue;
      }
      const float scale = IsExactDraw(draw.problem.data)
                              ? static_cast<float>(1 + parity)
                              : DrawFp32Scale(draw, 804, word >> 8, octave + (extreme ? 9 : 0));
      std::memcpy(at, &scale, sizeof scale);
    }
}

// Mean square 3 of the products: deviation sqrt(2.25 / k_dim) = Bell * 2.6 / 65536 / sqrt(k_dim);
// a smaller one for the down projection, whose inputs are larger.
void DrawBf16Payload(const MatrixDraw& draw) {
  PackedMatrix& m = draw.matrix;
  const RandomStream stream = draw.Stream(TensorId::kPayload);
  const bool exact = IsExactDraw(draw.problem.data);
  const std::uint64_t root = IntegerSqrt((std::uint64_t{1} << 40) / m.columns);  // 2^20/sqrt(K)
  const double unit = static_cast<double>(root * (draw.IsDown() ? 17 : 26) / 10) * PowerOfTwo(-36);
  const std::size_t size = static_cast<std::size_t>(m.rows) * m.columns;
  m.payload.resize(2 * size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::int32_t bell = stream.Bell(i);
    if (draw.problem.data == DataDraw::kDistinct) {
      // In runs of 16 inputs, as if they had scales.
      const int row = static_cast<int>(i / std::size_t(m.columns));
      const int group = static_cast<int>(i % std::size_t(m.columns)) / 16;
      const double power =
          PowerOfTwo(DistinctBase(m.columns) + DistinctExponent(row, group, draw.expert));
      const std::uint16_t word = DoubleToBf16(bell < 0 ? -power : power);
      m.payload[2 * i] = static_cast<std::uint8_t>(word & 255);
      m.payload[2 * i + 1] = static_cast<std::uint8_t>(word >> 8);
      continue;
    }
    const std::uint16_t bits = FloatToBf16(static_cast<float>(exact ? bell / 32768 : bell * unit));
    m.payload[2 * i] = static_cast<std::uint8_t>(bits & 255);
    m.payload[2 * i + 1] = static_cast<std::uint8_t>(bits >> 8);
  }
}

Format FormatOf(const Problem& problem, int expert) {
  if (expert >= 0) return problem.format;
  if (problem.shared) return *problem.shared;
  throw UsageError("shared=none: the layer has no shared expert to build");
}

PackedMatrix EmptyMatrix(const Problem& problem, Projection projection, int expert) {
  const int inter = expert < 0 ? problem.SharedInter() : problem.inter;
  const bool down = projection == Projection::kDown;
  PackedMatrix matrix;
  matrix.format = FormatOf(problem, expert);
  matrix.rows = down ? problem.hidden : inter;
  matrix.columns = down ? inter : problem.hidden;
  return matrix;
}

void RequireFormat(const PackedMatrix& matrix, int expert) {
  const std::string field = expert < 0 ? "shared=" : "format=";
  if (IsInt4(matrix.format) && matrix.rows % 8 != 0)
    throw UnsupportedProblem(field + std::string(Token(matrix.format)) +
                             ": words hold eight outputs, " + std::to_string(matrix.rows) +
                             " do not fill them");
  if (const auto rule = CannotCarry(matrix.format, matrix.columns)) throw UnsupportedProblem(*rule);
}

void RequireExpert(const Problem& problem, int expert) {
  RequireFormat(EmptyMatrix(problem, Projection::kGate, expert), expert);
  RequireFormat(EmptyMatrix(problem, Projection::kDown, expert), expert);
}

}  // namespace

void RequireFormats(const Problem& problem) {
  RequireExpert(problem, 0);
  if (problem.shared) RequireExpert(problem, -1);
}

PackedMatrix BuildMatrix(const Problem& problem, Projection projection, int expert) {
  PackedMatrix matrix = EmptyMatrix(problem, projection, expert);
  RequireFormat(matrix, expert);
  const MatrixDraw draw{problem, projection, expert, matrix};
  if (IsInt4(matrix.format)) {
    DrawInt4(draw);
    return matrix;
  }
  if (matrix.format == Format::kBf16)
    DrawBf16Payload(draw);
  else if (IsFp4(matrix.format))
    DrawFp4Payload(draw);
  else
    DrawE4m3Payload(draw);
  const int scale_bytes = ScaleGridOf(matrix.format, matrix.rows, matrix.columns).bytes;
  if (scale_bytes == 1) DrawScales(draw);
  if (scale_bytes == 4) DrawFp32Scales(draw);
  if (matrix.format == Format::kNvfp4) matrix.global_scale = DrawGlobalScale(draw);
  return matrix;
}

}  // namespace assay
