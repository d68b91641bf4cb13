#include "reference/contract_steps.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "reference/contract_model.h"
#include "reference/decode_fp8.h"
#include "reference/panels.h"
#include "reference/quantise.h"
#include "reference/random.h"

namespace assay {
namespace {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : stream_(seed, 12) {}
  float Bell(double deviation) {
    return static_cast<float>(stream_.Bell(at_++) / 37837.0 * deviation);
  }
  // In [-1, 1].
  double Part() { return double(stream_.At(at_++) >> 11) * 0x1p-52 - 1; }

 private:
  RandomStream stream_;
  std::uint64_t at_ = 0;
};

// One FP32 evaluation with the errors that the variant may have.
float Sigmoid(ExpVariant variant, float x, Draw& draw) {
  if (variant == ExpVariant::kTanhApprox) {
    const double tanh = std::tanh(0.5 * x);
    return 0.5f + 0.5f * static_cast<float>(tanh * (1 + 0x1p-11 * draw.Part()));
  }
  const double ulps = variant == ExpVariant::kFast ? 2 + 1.173 * std::fabs(x) : 2;
  const double e = std::exp(-double{x}) * (1 + ulps * 0x1p-23 * draw.Part());
  const double quotient = 1 / double(1.0f + static_cast<float>(e));
  const double off = variant == ExpVariant::kFast ? 2 * 0x1p-23 * draw.Part() : 0;
  return static_cast<float>(quotient * (1 + off));
}

float FloatActivation(const Contract& c, float z, Draw& draw) {
  const auto alpha = static_cast<float>(c.expert.alpha);
  switch (c.expert.activation) {
    case ActivationKind::kSilu:
      return z * Sigmoid(c.exp, z, draw);
    case ActivationKind::kSwishAlpha:
      return z * Sigmoid(c.exp, alpha * z, draw);
    case ActivationKind::kGeluTanh:
      return 0.5f * z * (1 + std::tanh(0.7978845608f * (z + 0.044715f * z * z * z)));
    case ActivationKind::kGeluErf:
      return 0.5f * z * (1 + std::erf(z * 0.70710678f));
    case ActivationKind::kReluSquared:
      return std::fmax(z, 0.0f) * std::fmax(z, 0.0f);
  }
  return 0;
}

float FloatHidden(const Contract& c, float g, float u, Draw& draw) {
  const ExpertRule& r = c.expert;
  if (!r.gated) return FloatActivation(c, u, draw);
  const auto gate_max = static_cast<float>(r.gate_max), up_max = static_cast<float>(r.up_abs_max);
  if (r.clamp == ClampAt::kBeforeActivation) g = std::fmin(g, gate_max);
  if (r.clamp != ClampAt::kNowhere) u = std::fmin(std::fmax(u, -up_max), up_max);
  float active = FloatActivation(c, g, draw);
  if (r.clamp == ClampAt::kAfterActivation) active = std::fmin(active, gate_max);
  return active * (u + static_cast<float>(r.up_offset));
}

std::vector<Contract> ActivationContracts() {
  std::vector<Contract> all;
  for (const ActivationKind kind :
       {ActivationKind::kSilu, ActivationKind::kSwishAlpha, ActivationKind::kGeluTanh,
        ActivationKind::kGeluErf, ActivationKind::kReluSquared})
    for (const ClampAt clamp :
         {ClampAt::kNowhere, ClampAt::kBeforeActivation, ClampAt::kAfterActivation})
      for (const ExpVariant exp :
           {ExpVariant::kLibrary, ExpVariant::kFast, ExpVariant::kTanhApprox}) {
        Contract c;
        c.exp = exp;
        c.silu = SiluForm::kMultiply;
        c.expert.activation = kind;
        c.expert.alpha = kind == ActivationKind::kSwishAlpha ? 1.702f : 1;
        c.expert.clamp = clamp;
        c.expert.gate_max = c.expert.up_abs_max = clamp == ClampAt::kNowhere ? HUGE_VAL : 1.5;
        c.expert.up_offset = clamp == ClampAt::kBeforeActivation ? 1 : 0;
        c.expert.gated = kind != ActivationKind::kReluSquared;
        all.push_back(c);
      }
  return all;
}

// Points inside the intervals of gate and up, evaluated in float, stay inside.
TEST(ContractSteps, EveryActivationsEvaluationsStayInside) {
  for (const Contract& c : ActivationContracts()) {
    Draw draw(1);
    for (int trial = 0; trial < 1000; ++trial) {
      const float g = draw.Bell(3), u = draw.Bell(3);
      const double wide = trial % 2 == 0 ? 0 : 0.5;
      const Interval gate{g - wide, g + wide}, up{u - wide, u + wide};
      const Interval hidden = HiddenInterval(c, gate, up);
      const auto at = [&](const Interval& i) {
        return static_cast<float>((i.low + i.high) / 2 + draw.Part() * (i.high - i.low) / 2);
      };
      const float value = FloatHidden(c, at(gate), at(up), draw);
      ASSERT_TRUE(hidden.Holds(value))
          << int(c.expert.activation) << int(c.exp) << " " << g << " " << u;
    }
  }
}

// The library's exponential leaves a relative width of some units of FP32.
TEST(ContractSteps, PointsGiveNarrowIntervals) {
  for (const Contract& c : ActivationContracts()) {
    if (c.exp != ExpVariant::kLibrary) continue;
    Draw draw(2);
    for (int trial = 0; trial < 200; ++trial) {
      const double g = draw.Bell(2), u = draw.Bell(2);
      const Interval hidden = HiddenInterval(c, {g, g}, {u, u});
      const double size = (std::fabs(g) + 1) * (std::fabs(u) + 1) * (std::fabs(u) + 1);
      EXPECT_LT(hidden.high - hidden.low, 40 * kUnitFp32 * size);
    }
  }
}

TEST(ContractSteps, ThePairKeepsSixteenBits) {
  for (int trial = 0; trial < 1000; ++trial) {
    Draw draw(trial);
    const float a = draw.Bell(1);
    const float high = fp32_model::ToBf16(a), low = fp32_model::ToBf16(a - high);
    EXPECT_TRUE(Stored(Store::kBf16Pair, {a, a}).Holds(double{high} + low));
    EXPECT_FALSE(Stored(Store::kBf16Pair, {a, a}).Holds(a * (1 + 0x1p-14) + 0x1p-130));
  }
}

const ActivationCodes kCodes[] = {{CodeElement::kE4m3, CodeScale::kFp32, 0},
                                  {CodeElement::kE4m3, CodeScale::kFp32, 128},
                                  {CodeElement::kE4m3, CodeScale::kE8m0Ceil, 128},
                                  {CodeElement::kE4m3, CodeScale::kE8m0Floor, 32},
                                  {CodeElement::kE2m1, CodeScale::kE4m3, 16}};

// Exact inputs, and inputs somewhere inside their intervals.
TEST(ContractSteps, QuantisedValuesStayInside) {
  for (const ActivationCodes& codes : kCodes)
    for (int trial = 0; trial < 300; ++trial) {
      Draw draw(trial);
      // Exact, a little uncertain, and all intervals of every group around 0.
      const double wide = trial % 3 == 0 ? 0 : trial % 3 == 1 ? 0.01 : 4;
      std::vector<Interval> values;
      fp32_model::Floats x;
      for (int i = 0; i < 160; ++i) {
        const float middle = draw.Bell(1);
        values.push_back({middle - wide, middle + wide});
        x.push_back(static_cast<float>(middle + wide * 0.999 * draw.Part()));
      }
      QuantiseIntervals(codes, values);
      const contract_model::Operand coded = contract_model::Coded(codes, x);
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_TRUE(values[i].Holds(coded.At(i))) << int(codes.scale) << " " << trial << " " << i;
    }
}

// absmax 448 (1 +- e): with e = 0.01 the scale may be 1 or 2, and a value of 100.5 becomes a code
// of either; with absmax 400 only 1.
TEST(ContractSteps, BothScalesAreAdmittedWhereTheLargestLiesNearAThreshold) {
  const ActivationCodes codes{CodeElement::kE4m3, CodeScale::kE8m0Ceil, 32};
  std::vector<Interval> near(32, {0.0017, 0.0017}), far = near;
  near[0] = {448 * 0.99, 448 * 1.01};
  far[0] = {400, 401};
  QuantiseIntervals(codes, near);
  QuantiseIntervals(codes, far);
  EXPECT_EQ(far[5].low, 0x1p-9);  // scale 1: the nearest step of 2^-9
  EXPECT_EQ(far[5].high, 0x1p-9);
  EXPECT_EQ(near[5].low, 0);  // scale 2: half a step and less goes to 0
  EXPECT_EQ(near[5].high, 0x1p-9);
}

TEST(ContractSteps, CodesOfUnboundedOrZeroValues) {
  for (const ActivationCodes& codes : kCodes) {
    std::vector<Interval> zeros(32, {0, 0}), wild = zeros;
    wild[3] = Anything();
    QuantiseIntervals(codes, zeros);
    for (const Interval& v : zeros) EXPECT_TRUE(v.low == 0 && v.high == 0);
    QuantiseIntervals(codes, wild);
    EXPECT_FALSE(IsFinite(wild[0]));
  }
}

// 0.53 rounds up to 0.5625 = 9/16, beyond the interval that it came from.
TEST(ContractSteps, ACodeMayLieOutsideAnIntervalAroundZero) {
  std::vector<Interval> values(32, {-0.53, 0.53});
  QuantiseIntervals({CodeElement::kE4m3, CodeScale::kFp32, 32}, values);
  EXPECT_TRUE(values[0].Holds(0.53 * (1 + 0x1p-4)));
  EXPECT_FALSE(values[0].Holds(0.6));
}

// A high part of infinity leaves minus infinity for the low one.
TEST(ContractSteps, APairNearTheEndOfTheRangeMayBeNan) {
  const double edge = 0x1.FFp127;  // halfway between the largest BF16 number and the next
  EXPECT_TRUE(Stored(Store::kBf16Pair, {1, edge}).Holds(std::nan("")));
  EXPECT_FALSE(Stored(Store::kBf16Pair, {1, edge * (1 - 0x1p-20)}).Holds(std::nan("")));
}

// The packed FP8 matrices of layers, against the containers.
TEST(DecodeFp8, AgreesWithTheContainers) {
  const std::pair<Format, const char*> formats[] = {{Format::kFp8Block, "fp8_block128_fp32"},
                                                    {Format::kFp8Channel, "fp8_channel"},
                                                    {Format::kMxfp8, "mxfp8"}};
  for (const auto& [format, name] : formats) {
    Draw draw(3);
    std::vector<float> values;
    for (int i = 0; i < 140 * 261; ++i) values.push_back(draw.Bell(1));
    const Container m = Quantise(SchemeNamed(name), 140, 261, values, QuantiseRule::kProduction);
    const PackedMatrix packed{format, false, m.rows, m.columns, m.payload, m.scales};
    std::vector<double> row(m.columns);
    for (int r = 0; r < m.rows; ++r) {
      DecodeRow(packed, CodePolicy::kStandard, r, row.data(), nullptr);
      for (int c = 0; c < m.columns; ++c)
        ASSERT_EQ(row[c], ExactWeight(m, r, c, CodePolicy::kStandard)) << name;
    }
  }
}

}  // namespace
}  // namespace assay
