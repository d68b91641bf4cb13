// A real number with a bound on how far an FP32 evaluation of it may lie: running error analysis.
// Code written as a template over the number type is exact with double and bounded with this.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "reference/accumulation.h"

namespace assay {

struct Fp32Number {
  double value = 0;  // exact
  double error = 0;  // |FP32 result - value| at most

  Fp32Number() = default;
  Fp32Number(double exact) : value(exact) {}  // NOLINT: numbers of the input are exact
  Fp32Number(double exact, double bound) : value(exact), error(bound) {}

  // After `roundings` further roundings; an FP32 result may be flushed to zero below 2^-126.
  Fp32Number Rounded(double roundings) const {
    constexpr double kProducts = 1 + 0x1p-20;  // of errors, and of double roundings here
    const double size = std::fabs(value) + error;
    return {value, (error + roundings * kUnitFp32 * size) * kProducts + 0x1p-126};
  }
};

inline double ValueOf(double x) { return x; }
inline double ValueOf(const Fp32Number& x) { return x.value; }

// A bound may be infinite; nothing times it is nothing.
inline double BoundProduct(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

inline Fp32Number operator+(const Fp32Number& a, const Fp32Number& b) {
  return Fp32Number(a.value + b.value, a.error + b.error).Rounded(1);
}
inline Fp32Number operator-(const Fp32Number& a) { return {-a.value, a.error}; }
inline Fp32Number operator-(const Fp32Number& a, const Fp32Number& b) { return a + -b; }
inline Fp32Number operator*(const Fp32Number& a, const Fp32Number& b) {
  const double error = BoundProduct(std::fabs(a.value), b.error) +
                       BoundProduct(std::fabs(b.value), a.error) + BoundProduct(a.error, b.error);
  return Fp32Number(a.value * b.value, error).Rounded(1);
}
// A rounded reciprocal and a product count as a division: two roundings.
inline Fp32Number operator/(const Fp32Number& a, const Fp32Number& b) {
  const double size = std::fabs(b.value), least = size - b.error;
  if (!(least > 0)) return {a.value / b.value, HUGE_VAL};
  const double error = (std::fabs(a.value) * b.error + size * a.error) / (size * least);
  return Fp32Number(a.value / b.value, error).Rounded(2);
}

// Functions of an FP32 library are taken to err by at most two units in the last place.
inline constexpr double kLibraryRoundings = 4;

inline Fp32Number Exp(const Fp32Number& x) {
  const double e = std::exp(x.value);
  return Fp32Number(e, e * std::expm1(x.error)).Rounded(kLibraryRoundings);
}
// For x >= 0, where the slope is at most one.
inline Fp32Number Log1p(const Fp32Number& x) {
  return Fp32Number(std::log1p(x.value), x.error / (1 + std::max(0.0, x.value - x.error)))
      .Rounded(kLibraryRoundings);
}
inline Fp32Number Sqrt(const Fp32Number& x) {
  const double root = std::sqrt(x.value), least = std::sqrt(std::max(0.0, x.value - x.error));
  const double error = std::max(std::sqrt(x.value + x.error) - root, root - least);
  return Fp32Number(root, error).Rounded(kLibraryRoundings);
}
// For x >= 0.
inline Fp32Number Pow(const Fp32Number& x, double p) {
  const double value = std::pow(x.value, p);
  const double high = std::pow(x.value + x.error, p);
  const double low = std::pow(std::max(0.0, x.value - x.error), p);
  return Fp32Number(value, std::max(std::fabs(high - value), std::fabs(value - low)))
      .Rounded(2 * kLibraryRoundings);
}
inline double Exp(double x) { return std::exp(x); }
inline double Log1p(double x) { return std::log1p(x); }
inline double Sqrt(double x) { return std::sqrt(x); }
inline double Pow(double x, double p) { return std::pow(x, p); }

// In any order.
inline Fp32Number Sum(std::span<const Fp32Number> terms) {
  double value = 0, error = 0, size = 0;
  for (const Fp32Number& t : terms) {
    value += t.value;
    error += t.error;
    size += std::fabs(t.value) + t.error;
  }
  return {value, error + static_cast<double>(terms.size()) * kUnitFp32 * kDoubleSlack * size};
}
inline double Sum(std::span<const double> terms) {
  double sum = 0;
  for (const double t : terms) sum += t;
  return sum;
}

}  // namespace assay
