#include "oracle/bf16_value.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay {
namespace {

constexpr double kSmallest = 0x1p-133;  // the smallest subnormal BF16
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::uint16_t CodeOf(double value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16);
}

}  // namespace

double StepAbove(double value) {
  if (value == 0) return kSmallest;
  const std::uint16_t code = CodeOf(value);
  // Codes grow with the magnitude: up is the next code of a positive value, the previous of a
  // negative one.
  const double next = ValueOfBf16(static_cast<std::uint16_t>(value > 0 ? code + 1 : code - 1));
  return std::isfinite(next) ? next - value : value - ValueOfBf16(code - 1);
}

double StepBelow(double value) { return StepAbove(-value); }

Interval BeforeLastRounding(const Interval& stored) {
  Interval reals = stored;
  if (std::isfinite(stored.low)) reals.low -= StepBelow(stored.low) / 2;
  if (std::isfinite(stored.high)) reals.high += StepAbove(stored.high) / 2;
  return reals;
}

double HalfWidth(const Interval& stored) {
  const Interval reals = BeforeLastRounding(stored);
  return (reals.high - reals.low) / 2;
}

double Margin(double value, double center, const Interval& stored) {
  const bool holds = stored.Holds(value);
  const Interval reals = BeforeLastRounding(stored);
  const double room = value >= center ? reals.high - center : center - reals.low;
  const double distance = std::abs(value - center);
  if (!std::isfinite(distance) || !std::isfinite(room)) return holds ? 0 : kInfinity;
  if (distance == 0 && holds) return 0;
  const double ratio = room > 0 ? distance / room : kInfinity;
  // In an interval wider than 2^53 of its last steps the quotient rounds to 1: the interval
  // decides.
  return holds ? std::min(ratio, 1.0) : std::max(ratio, std::nextafter(1.0, 2.0));
}

}  // namespace assay
