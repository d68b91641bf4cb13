#include "reference/contract_steps.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "reference/e4m3.h"
#include "reference/e8m0.h"
#include "reference/fp32_error.h"
#include "reference/small_float.h"

namespace assay {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Interval Hull(const Interval& a, const Interval& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

Interval Widened(const Interval& i, double relative, double absolute) {
  return {i.low - relative * std::fabs(i.low) - absolute,
          i.high + relative * std::fabs(i.high) + absolute};
}

// ---- activations

// Found by halving thirds: the value is flat there, so the last bits of the place do not matter.
double FindArgMin(const ExpertRule& rule) {
  double low = -3, high = 0;
  for (int i = 0; i < 200; ++i) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    const bool left = Activated(rule, a) < Activated(rule, b);
    (left ? high : low) = left ? b : a;
  }
  return low;
}

ExpertRule RuleOf(ActivationKind kind) {
  ExpertRule rule;
  rule.activation = kind;
  return rule;
}

// Where the activation is smallest; it is monotone on either side.
double ArgMin(const ExpertRule& rule) {
  static const double gelu_tanh = FindArgMin(RuleOf(ActivationKind::kGeluTanh));
  static const double gelu_erf = FindArgMin(RuleOf(ActivationKind::kGeluErf));
  if (rule.activation == ActivationKind::kGeluTanh) return gelu_tanh;
  return rule.activation == ActivationKind::kGeluErf ? gelu_erf : kSiluArgMin / rule.alpha;
}

Interval ActivatedRange(const ExpertRule& rule, const Interval& z) {
  const double a = Activated(rule, z.low), b = Activated(rule, z.high);
  Interval range{std::min(a, b), std::max(a, b)};
  if (rule.activation == ActivationKind::kReluSquared) return range;
  const double lowest = ArgMin(rule);
  // 1e-15: what the search leaves of the flat value.
  if (z.low < lowest && lowest < z.high)
    range.low = std::min(range.low, Activated(rule, lowest) - 1e-15);
  return range;
}

// Relative and absolute error of the FP32 activation, the product with up not counted.
struct EvaluationError {
  double relative = 0, absolute = 0;
};

EvaluationError SwishError(const Contract& c, const Interval& z) {
  constexpr double kUlp = 2 * kUnitFp32;
  const double largest = Largest(z);
  // exp (of which at most all reaches 1 + exp), 1 + exp, quotient, and the product with z where the
  // reciprocal is taken.
  double roundings = kExpRoundings + (c.silu == SiluForm::kMultiply ? 3.01 : 2.01);
  // alpha as an FP32 number and the product with z: the exponential's argument errs by 2u of it.
  if (c.expert.activation == ActivationKind::kSwishAlpha)
    roundings += 1 + 2 * std::fabs(c.expert.alpha) * largest;
  if (c.exp == ExpVariant::kLibrary) return {roundings * kUnitFp32, kSwigluFloor};
  if (c.exp == ExpVariant::kFast)
    return {(2 + 1.173 * largest + 4) * kUlp + roundings * kUnitFp32, largest * 0x1p-120};
  // sigmoid = (1 + tanh(z / 2)) / 2, tanh within 2^-11 of itself.
  return {roundings * kUnitFp32, largest * (0x1p-12 + 2 * kUnitFp32)};
}

EvaluationError ErrorOf(const Contract& c, const Interval& z) {
  switch (c.expert.activation) {
    case ActivationKind::kSilu:
    case ActivationKind::kSwishAlpha:
      return SwishError(c, z);
    case ActivationKind::kGeluTanh:
    case ActivationKind::kGeluErf:
      // The argument of tanh or erf errs by 6u, which moves the result by at most 2.7u (the largest
      // t sech(t)^2 is 0.45); the function itself by 4u, 1 + it by 2u: 8.7u of z/2, and two
      // products.
      return {0, 8 * kUnitFp32 * Largest(z) + kFp32Tiny};
    case ActivationKind::kReluSquared:
      return {1.01 * kUnitFp32, kFp32Tiny};
  }
  return {};
}

Interval Clipped(const Interval& i, double low, double high) {
  return {std::clamp(i.low, low, high), std::clamp(i.high, low, high)};
}

Interval ActivatedFp32(const Contract& c, Interval z) {
  const EvaluationError error = ErrorOf(c, z);
  return Widened(ActivatedRange(c.expert, z), error.relative, error.absolute);
}

Interval UpFactor(const ExpertRule& rule, Interval up) {
  if (rule.clamp != ClampAt::kNowhere) up = Clipped(up, -rule.up_abs_max, rule.up_abs_max);
  if (rule.up_offset == 0) return up;
  return Widened({up.low + rule.up_offset, up.high + rule.up_offset}, kUnitFp32, kFp32Tiny);
}

// ---- codes

int EncodeElement(CodeElement element, double value) {
  return element == CodeElement::kE4m3 ? E4m3::EncodeSaturated(value)
                                       : E2m1::EncodeSaturated(value);
}
double DecodeElement(CodeElement element, int code) {
  return element == CodeElement::kE4m3 ? E4m3::Decode(code) : E2m1::Decode(code);
}
double LargestCode(CodeElement element) {
  return element == CodeElement::kE4m3 ? E4m3::Decode(E4m3::kMaxCode)
                                       : E2m1::Decode(E2m1::kMaxCode);
}
int LargestExponent(CodeElement element) { return element == CodeElement::kE4m3 ? 8 : 2; }

// An FP32 quotient, or a product with a rounded reciprocal, of the scale's formula: three
// roundings.
constexpr double kQuotient = 3.01 * kUnitFp32;

// The scales that some absmax inside `amax` gives.
std::vector<Interval> ScalesFor(const ActivationCodes& codes, const Interval& amax) {
  const double most = LargestCode(codes.element);
  const double low = amax.low / most * (1 - kQuotient), high = amax.high / most * (1 + kQuotient);
  if (codes.scale == CodeScale::kFp32) return {{low, high}};
  std::vector<Interval> scales;
  if (codes.scale == CodeScale::kE4m3) {
    const int last = E4m3::EncodeSaturated(high / codes.global * (1 + kQuotient));
    for (int c = E4m3::EncodeSaturated(low / codes.global * (1 - kQuotient)); c <= last; ++c) {
      const double scale = E4m3::Decode(c) * codes.global;
      scales.push_back(Widened({scale, scale}, kUnitFp32, 0));
    }
    return scales;
  }
  const bool floor = codes.scale == CodeScale::kE8m0Floor;
  const int exponent = LargestExponent(codes.element);
  const int first = floor ? E8m0Floor(amax.low, exponent) : E8m0AtLeast(low);
  const int last = floor ? E8m0Floor(amax.high, exponent) : E8m0AtLeast(high);
  for (int c = first; c <= last; ++c) {
    const double scale = DecodeE8m0(static_cast<std::uint8_t>(c), CodePolicy::kStandard);
    scales.push_back({scale, scale});
  }
  return scales;
}

// How far decoding a code may leave the value that was coded, clipping toward zero apart: half a
// step. E4M3: 2^-4 of the value, or 2^-10 of the scale where codes are subnormal. E2M1: steps of a
// half up to 2, then at most a quarter of the value lies between it and the code.
Interval OfAnyScale(CodeElement element, const Interval& v, double largest_scale) {
  const bool fp8 = element == CodeElement::kE4m3;
  const double relative = (fp8 ? 0x1p-4 : 0x1p-2) + kQuotient;
  const double step = (fp8 ? 0x1p-10 : 0x1p-2) * largest_scale * (1 + kQuotient);
  const auto grown = [&](double x) { return x + std::copysign(relative * std::fabs(x) + step, x); };
  return Hull({0, 0}, {v.low < 0 ? grown(v.low) : 0, v.high > 0 ? grown(v.high) : 0});
}

// Below this an FP32 scale or quotient may be subnormal or flushed, and its error is not relative.
constexpr double kSmallestScale = 0x1p-120;

// Dequantised codes of a value in `v` with a scale in `s`.
Interval CodedWith(CodeElement element, const Interval& v, const Interval& s) {
  if (s.high == 0) return {0, 0};
  if (s.low < kSmallestScale) return OfAnyScale(element, v, std::max(s.high, kSmallestScale));
  const Interval inverse{1 / s.high, 1 / s.low};
  const Interval quotient = Widened(Product(v, inverse), kQuotient, 0);
  const Interval code{DecodeElement(element, EncodeElement(element, quotient.low)),
                      DecodeElement(element, EncodeElement(element, quotient.high))};
  return Product(code, s);
}

void QuantiseGroup(const ActivationCodes& codes, std::span<Interval> group) {
  Interval amax{0, 0};
  for (const Interval& v : group) {
    if (!IsFinite(v)) {
      std::fill(group.begin(), group.end(), Anything());
      return;
    }
    const bool crosses = v.low <= 0 && v.high >= 0;
    amax.low = std::max(amax.low, crosses ? 0 : std::min(std::fabs(v.low), std::fabs(v.high)));
    amax.high = std::max(amax.high, Largest(v));
  }
  const std::vector<Interval> scales = ScalesFor(codes, amax);
  for (Interval& v : group) {
    Interval hull = CodedWith(codes.element, v, scales.front());
    for (const Interval& s : scales) hull = Hull(hull, CodedWith(codes.element, v, s));
    v = hull;
  }
}

}  // namespace

Interval Stored(Store store, const Interval& value) {
  if (IsOnlyNan(value) || !IsFinite(value) || store == Store::kFp32) return value;
  if (store == Store::kBf16) return {RoundToBf16(value.low), RoundToBf16(value.high)};
  // A high part that rounds to infinity leaves a low part of minus infinity: their sum is NaN.
  if (std::isinf(RoundToBf16(Largest(value)))) return Anything();
  // The high part leaves at most 2^-8 of the value, the low part 2^-8 of that.
  return Widened(value, 0x1p-16, 0x1p-134);
}

Interval StoredSum(Store store, double center, double radius, double magnitude) {
  if (std::isnan(center)) return OnlyNan();
  if (!(magnitude + radius < kFp32Max)) return Anything();  // partial sums may overflow
  return Stored(store, {center - radius, center + radius});
}

Interval HiddenInterval(const Contract& c, const Interval& gate, const Interval& up) {
  const ExpertRule& rule = c.expert;
  if ((rule.gated && IsOnlyNan(gate)) || IsOnlyNan(up)) return OnlyNan();
  if ((rule.gated && !IsFinite(gate)) || !IsFinite(up)) return Anything();
  Interval hidden;
  if (!rule.gated) {
    hidden = ActivatedFp32(c, up);
  } else {
    const bool before = rule.clamp == ClampAt::kBeforeActivation;
    Interval active = ActivatedFp32(c, before ? Clipped(gate, rule.gate_min, rule.gate_max) : gate);
    if (rule.clamp == ClampAt::kAfterActivation)
      active = Clipped(active, rule.gate_min, rule.gate_max);
    hidden = Widened(Product(active, UpFactor(rule, up)), 1.01 * kUnitFp32, kFp32Tiny);
  }
  return Largest(hidden) > kFp32Max ? Anything() : hidden;
}

void QuantiseIntervals(const ActivationCodes& codes, std::vector<Interval>& values) {
  if (codes.element == CodeElement::kNone) return;
  const std::size_t step = codes.group == 0 ? values.size() : codes.group;
  for (std::size_t first = 0; first < values.size(); first += step)
    QuantiseGroup(codes, std::span(values).subspan(first, std::min(step, values.size() - first)));
}

}  // namespace assay
