#include "reference/containers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "reference/e4m3.h"
#include "reference/error.h"
#include "reference/layer_data.h"
#include "reference/panels.h"
#include "reference/quantise.h"
#include "reference/random.h"

namespace assay {
namespace {

constexpr CodePolicy kStandard = CodePolicy::kStandard;

Container Empty(const ContainerScheme& scheme, int rows, int columns, bool transposed = false) {
  Container m{scheme, transposed, rows, columns, {}, {}, {}, 1.0f};
  SizeBuffers(m);
  return m;
}

// Ragged where the scheme allows it: 2 blocks and a part.
int RaggedColumns(const ContainerScheme& s) {
  const bool whole = ElementBits(s.element) < 8;
  return whole ? 2 * s.block_columns : std::max(1, s.block_columns) * 2 + 5;
}
int RaggedRows(const ContainerScheme& s) {
  return s.element == Element::kInt4 ? 24 : s.block_rows > 1 ? s.block_rows + 3 : 7;
}

std::vector<float> Values(int count, std::uint64_t seed) {
  const RandomStream stream(seed, 1);
  std::vector<float> values(count);
  for (int i = 0; i < count; ++i) values[i] = static_cast<float>(stream.Bell(i) * 0x1p-16);
  return values;
}

TEST(Containers, EveryBitOfThePayloadBelongsToOneWeight) {
  for (const ContainerScheme& scheme : ContainerSchemes())
    for (const bool transposed : {false, true}) {
      const Container m = Empty(scheme, RaggedRows(scheme), RaggedColumns(scheme), transposed);
      const int bits = ElementBits(scheme.element);
      std::set<std::int64_t> starts;
      for (int row = 0; row < m.rows; ++row)
        for (int column = 0; column < m.columns; ++column)
          starts.insert(PayloadBit(m, row, column));
      EXPECT_EQ(starts.size(), std::size_t(m.rows) * m.columns) << scheme.name;
      EXPECT_EQ(*starts.begin(), 0) << scheme.name;
      EXPECT_EQ(*starts.rbegin() + bits, std::int64_t(m.payload.size()) * 8) << scheme.name;
      for (const std::int64_t at : starts) EXPECT_EQ(at % bits, 0) << scheme.name;
    }
}

TEST(Containers, EveryScaleServesSomeWeightAndNoIndexLeavesTheGrid) {
  for (const ContainerScheme& scheme : ContainerSchemes())
    for (const bool transposed : {false, true}) {
      if (scheme.scale == ScaleCode::kNone) continue;
      const Container m = Empty(scheme, RaggedRows(scheme), RaggedColumns(scheme), transposed);
      std::set<std::int64_t> used;
      for (int row = 0; row < m.rows; ++row)
        for (int column = 0; column < m.columns; ++column) used.insert(ScaleIndex(m, row, column));
      const std::int64_t grid = std::int64_t(m.scales.size()) / ScaleBytes(scheme.scale);
      EXPECT_EQ(std::int64_t(used.size()), grid) << scheme.name;
      EXPECT_EQ(*used.rbegin(), grid - 1) << scheme.name;
    }
}

TEST(Containers, WritingOneCodeChangesNoOther) {
  for (const ContainerScheme& scheme : ContainerSchemes()) {
    Container m = Empty(scheme, RaggedRows(scheme), RaggedColumns(scheme));
    const int bits = ElementBits(scheme.element), all = (1 << bits) - 1;
    WriteBits(m.payload, PayloadBit(m, 3, 5), bits, all);
    for (int row = 0; row < m.rows; ++row)
      for (int column = 0; column < m.columns; ++column)
        EXPECT_EQ(ReadBits(m.payload, PayloadBit(m, row, column), bits),
                  row == 3 && column == 5 ? all : 0);
  }
}

// The word 0x76543210 holds the codes 0 to 7 from the low nibble.
TEST(Containers, GptqPacksEightInputsOfOneOutputFirstInTheLowNibble) {
  Container m = Empty(SchemeNamed("int4_g32_gptq"), 8, 32);
  const std::uint8_t word[] = {0x10, 0x32, 0x54, 0x76};
  std::copy(word, word + 4, m.payload.begin() + (1 * 8 + 5) * 4);  // inputs 8..15 of output 5
  for (int i = 0; i < 8; ++i) EXPECT_EQ(ReadBits(m.payload, PayloadBit(m, 5, 8 + i), 4), i);
}

TEST(Containers, AwqPacksEightOutputsOfOneInputEvenOnesFirst) {
  Container m = Empty(SchemeNamed("int4_g32_awq"), 16, 32);
  const std::uint8_t word[] = {0x10, 0x32, 0x54, 0x76};
  std::copy(word, word + 4, m.payload.begin() + (3 * 2 + 1) * 4);  // input 3, outputs 8..15
  const int output_of_nibble[] = {0, 2, 4, 6, 1, 3, 5, 7};
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(ReadBits(m.payload, PayloadBit(m, 8 + output_of_nibble[i], 3), 4), i);
}

// Scale 0.5 (FP16 0x3800), code 9, stored zero point 4: 4 by AWQ and 5 by GPTQ.
TEST(Containers, GptqStoresTheZeroPointLessOne) {
  for (const auto& [name, expected] : {std::pair("int4_g32_awq", 2.5), {"int4_g32_gptq", 2.0}}) {
    Container m = Empty(SchemeNamed(name), 8, 64);
    WriteBits(m.payload, PayloadBit(m, 6, 40), 4, 9);
    WriteBits(m.zeros, ZeroBit(m, 6, 40), 4, 4);
    m.scales[ScaleIndex(m, 6, 40) * 2 + 1] = 0x38;
    EXPECT_EQ(ExactWeight(m, 6, 40, kStandard), expected) << name;
  }
}

TEST(Containers, TheTwoGlobalScaleConventionsAreReciprocal) {
  Container times = Empty(SchemeNamed("nvfp4"), 1, 16),
            by = Empty(SchemeNamed("nvfp4_divisor"), 1, 16);
  for (Container* m : {&times, &by}) {
    m->payload[0] = 0x72;  // 1, 6
    m->scales[0] = static_cast<std::uint8_t>(E4m3::Encode(1.5));
  }
  times.global_scale = 0.25f;
  by.global_scale = 4.0f;
  EXPECT_EQ(ExactWeight(times, 0, 1, kStandard), 6 * 1.5 / 4);
  EXPECT_EQ(ExactWeight(by, 0, 1, kStandard), 6 * 1.5 / 4);
}

TEST(Containers, TheLastBlockOfBlockFp8IsCutOff) {
  Container m = Empty(SchemeNamed("fp8_block128_fp32"), 130, 257);
  EXPECT_EQ(m.ScaleRows(), 2);
  EXPECT_EQ(m.ScaleColumns(), 3);
  EXPECT_EQ(ScaleIndex(m, 129, 256), 5);
  EXPECT_EQ(ScaleIndex(m, 127, 127), 0);
}

TEST(Containers, NanCodesOfAnE4m3PayloadFollowThePolicyButNotThoseOfAScale) {
  Container m = Empty(SchemeNamed("mxfp8"), 1, 32);
  m.payload[0] = 0x7F;
  m.scales[0] = 127;
  EXPECT_TRUE(std::isnan(ExactWeight(m, 0, 0, kStandard)));
  EXPECT_EQ(ExactWeight(m, 0, 0, CodePolicy::kProduction), 0);
  Container scale = Empty(SchemeNamed("nvfp4"), 1, 16);
  scale.payload[0] = 2;
  scale.scales[0] = 0xFF;
  EXPECT_TRUE(std::isnan(ExactWeight(scale, 0, 0, CodePolicy::kProduction)));
}

TEST(Containers, E8m0EdgeCodesFollowThePolicy) {
  Container m = Empty(SchemeNamed("mxfp4"), 1, 32);
  m.payload[0] = 2;  // 1.0
  EXPECT_EQ(ExactWeight(m, 0, 0, kStandard), 0x1p-127);
  EXPECT_EQ(ExactWeight(m, 0, 0, CodePolicy::kProduction), 0);
  m.scales[0] = 255;
  EXPECT_TRUE(std::isnan(ExactWeight(m, 0, 0, kStandard)));
  EXPECT_EQ(ExactWeight(m, 0, 0, CodePolicy::kProduction), 0);
}

// The decoder of the layers is another code path over the same bytes.
TEST(Containers, AgreeWithTheDecoderOfTheLayers) {
  for (const Format format : {Format::kNvfp4, Format::kMxfp4, Format::kBf16}) {
    Problem p;
    p.format = format;
    const PackedMatrix packed = BuildMatrix(p, Projection::kUp, 2);
    const char* name = format == Format::kNvfp4   ? "nvfp4"
                       : format == Format::kMxfp4 ? "mxfp4"
                                                  : "bf16";
    const Container m{SchemeNamed(name), false,         packed.rows, packed.columns,
                      packed.payload,    packed.scales, {},          packed.global_scale};
    std::vector<double> formed(m.columns), exact(m.columns);
    for (int row = 0; row < m.rows; ++row) {
      DecodeRow(packed, p.codes, row, formed.data(), exact.data());
      const std::vector<double>& expected = ExactDiffers(format) ? exact : formed;
      for (int c = 0; c < m.columns; ++c)
        ASSERT_EQ(ExactWeight(m, row, c, p.codes), expected[c]) << name;
    }
  }
}

TEST(Containers, DimensionsThatThePackingCannotHoldAreRefused) {
  EXPECT_THROW(Empty(SchemeNamed("nvfp4"), 4, 24), UsageError);
  EXPECT_THROW(Empty(SchemeNamed("int4_g32_awq"), 12, 32), UsageError);
  EXPECT_THROW(Empty(SchemeNamed("bf16"), 0, 32), UsageError);
  EXPECT_THROW(SchemeNamed("int3"), UsageError);
}

// ---- quantisers

// All weights that some code of the container can mean at a position.
std::vector<double> Alternatives(Container m, int row, int column) {
  std::vector<double> all;
  const int bits = ElementBits(m.scheme.element);
  for (int code = 0; code < 1 << bits; ++code) {
    WriteBits(m.payload, PayloadBit(m, row, column), bits, code);
    const double value = ExactWeight(m, row, column, kStandard);
    if (std::isfinite(value)) all.push_back(value);
  }
  return all;
}

TEST(Quantise, NoOtherCodeIsNearer) {
  for (const ContainerScheme& scheme : ContainerSchemes()) {
    if (ElementBits(scheme.element) == 16) continue;
    const int rows = RaggedRows(scheme), columns = RaggedColumns(scheme);
    const std::vector<float> values = Values(rows * columns, 7);
    const Container m = Quantise(scheme, rows, columns, values, QuantiseRule::kNearestEven);
    for (int i = 0; i < 24; ++i) {
      const int row = i % rows, column = (i * 37) % columns;
      const double value = values[std::size_t(row) * columns + column];
      const double got = std::fabs(ExactWeight(m, row, column, kStandard) - value);
      for (const double other : Alternatives(m, row, column))
        // The quotient by the scale is rounded to double before the code is chosen.
        EXPECT_LE(got, std::fabs(other - value) + 0x1p-50 * std::fabs(value)) << scheme.name;
    }
  }
}

// FP32 steps may move a value across a midpoint, so rules differ by one code at most, rarely.
TEST(Quantise, TheProductionRuleDiffersByRoundingsOnly) {
  for (const char* name : {"nvfp4", "mxfp4", "fp8_block128_fp32", "fp8_channel", "mxfp8"}) {
    const std::vector<float> values = Values(64 * 256, 11);
    const auto scheme = SchemeNamed(name);
    const Container a = Quantise(scheme, 64, 256, values, QuantiseRule::kProduction);
    const Container b = Quantise(scheme, 64, 256, values, QuantiseRule::kNearestEven);
    int differing = 0;
    for (std::size_t i = 0; i < a.payload.size(); ++i) differing += a.payload[i] != b.payload[i];
    EXPECT_LT(differing, int(a.payload.size() / 100)) << name;
  }
}

TEST(Quantise, TheGlobalScaleIsTheLargestOverTheLargestCodes) {
  std::vector<float> values(16, 0.0f);
  EXPECT_EQ(Quantise(SchemeNamed("nvfp4"), 1, 16, values, QuantiseRule::kProduction).global_scale,
            1.0f);
  values[3] = -5.0f;
  const Container m = Quantise(SchemeNamed("nvfp4"), 1, 16, values, QuantiseRule::kProduction);
  EXPECT_EQ(m.global_scale, 5.0f / (6 * 448));
  EXPECT_EQ(m.scales[0], 0x7E);                                 // 448
  EXPECT_EQ(ReadBits(m.payload, PayloadBit(m, 0, 3), 4), 0xF);  // -6
  const Container by =
      Quantise(SchemeNamed("nvfp4_divisor"), 1, 16, values, QuantiseRule::kProduction);
  EXPECT_EQ(by.global_scale, static_cast<float>(6 * 448 / 5.0));
}

TEST(Quantise, PowerOfTwoScalesNeverClip) {
  for (const char* name : {"mxfp4", "mxfp8", "fp8_block32_ue8m0"}) {
    const auto scheme = SchemeNamed(name);
    for (int trial = 0; trial < 50; ++trial) {
      std::vector<float> values(32 * 32, 0.0f);
      const float largest = 1.0f + trial / 50.0f;
      values[9] = largest;
      const Container m = Quantise(scheme, 32, 32, values, QuantiseRule::kNearestEven);
      const double scale = ScaleValue(m, ScaleIndex(m, 0, 9), kStandard);
      EXPECT_GE(scale * LargestOf(scheme.element), largest);
      EXPECT_LT(scale / 2 * LargestOf(scheme.element), largest);
    }
  }
}

TEST(Quantise, RefusesWhatIsNotFinite) {
  std::vector<float> values(32, 1.0f);
  values[4] = HUGE_VALF;
  EXPECT_THROW(Quantise(SchemeNamed("mxfp4"), 1, 32, values, QuantiseRule::kProduction),
               UsageError);
}

}  // namespace
}  // namespace assay
