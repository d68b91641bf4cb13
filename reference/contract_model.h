// Test helper: evaluations in FP32 (and on the tensor-core model) of every rounding contract, as a
// kernel would do it. Written apart from the interval reference: own rounding points, own
// quantisation, float arithmetic.
#pragma once

#include <algorithm>
#include <cstring>

#include "reference/fp32_model.h"
#include "reference/small_float.h"
#include "reference/tensor_core.h"

namespace assay::contract_model {

using fp32_model::Dot;
using fp32_model::Floats;
using fp32_model::ToBf16;

// Numbers as codes and their fine scale (exact), times a coarse FP32 scale for each run of 128.
struct Operand {
  Floats core, outer;
  float At(std::size_t i) const { return core[i] * outer[i / 128]; }
};

// How the products of one output are added: an FP32 order over formed weights, or instructions of
// a tensor core.
struct Summing {
  const char* name = "";
  Dot fp32;  // empty: tensor core
  AccumulateModel tensor = {};
  bool backward = false;  // tensor core: the products of a chunk in reverse
};

// A dot product in `parts` runs of consecutive inputs, joined in order.
inline Dot Split(const Dot& dot, int parts) {
  if (parts == 1) return dot;
  return [dot, parts](const Floats& a, const Floats& b) {
    const std::size_t part = (a.size() + parts - 1) / parts;
    float total = 0;
    for (std::size_t first = 0; first < a.size(); first += part) {
      const auto end = std::min(a.size(), first + part);
      total += dot(Floats(a.begin() + first, a.begin() + end),
                   Floats(b.begin() + first, b.begin() + end));
    }
    return total;
  };
}

inline Operand Plain(const Floats& x) { return {x, Floats((x.size() + 127) / 128, 1.0f)}; }

inline float Fp8Scale(const PackedMatrix& m, int row, int column) {
  const std::size_t across = (m.columns + 127) / 128;
  float scale;
  std::memcpy(&scale, m.scales.data() + 4 * (row / 128 * across + column / 128), 4);
  return scale;
}

inline Operand WeightRow(const PackedMatrix& m, int row) {
  Operand w = Plain(Floats(m.columns));
  for (int c = 0; c < m.columns; ++c) {
    const std::size_t at = std::size_t(row) * m.columns + c;
    if (m.format == Format::kFp8Block) {
      w.core[c] = static_cast<float>(E4m3::Decode(m.payload[at]));
      w.outer[c / 128] = Fp8Scale(m, row, c);
    } else if (m.format == Format::kNvfp4) {
      w.core[c] = fp32_model::E2m1ByHand(m.payload[at / 2] >> (c % 2 * 4) & 15) *
                  fp32_model::E4m3ByHand(m.scales[at / 16]);
      w.outer[c / 128] = m.global_scale;
    } else {
      w.core[c] = fp32_model::WeightAtPosition(m, row, c);
    }
  }
  return w;
}

inline float PowerNotBelow(float x) {
  int e = 0;
  const float half = std::frexp(x, &e);
  return std::ldexp(1.0f, half == 0.5f ? e - 1 : e);
}

// Codes of a few values with one scale.
inline void CodeGroup(const ActivationCodes& codes, const Floats& x, std::size_t first,
                      std::size_t end, Operand& out) {
  float amax = 0;
  for (std::size_t i = first; i < end; ++i) amax = std::fmax(amax, std::fabs(x[i]));
  const bool fp8 = codes.element == CodeElement::kE4m3;
  float scale = amax / (fp8 ? 448.0f : 6.0f);
  if (codes.scale == CodeScale::kE8m0Ceil) scale = amax == 0 ? 0x1p-127f : PowerNotBelow(scale);
  if (codes.scale == CodeScale::kE8m0Floor)
    scale = amax == 0 ? 0x1p-127f : std::ldexp(1.0f, std::ilogb(amax) - (fp8 ? 8 : 2));
  if (codes.scale == CodeScale::kE4m3)
    scale = static_cast<float>(E4m3::Decode(E4m3::EncodeSaturated(scale)));
  const bool coarse = codes.scale == CodeScale::kFp32;
  for (std::size_t i = first; i < end; ++i) {
    const float quotient = scale == 0 ? 0 : x[i] / scale;
    const float code = static_cast<float>(fp8 ? E4m3::Decode(E4m3::EncodeSaturated(quotient))
                                              : E2m1::Decode(E2m1::EncodeSaturated(quotient)));
    out.core[i] = coarse ? code : code * scale;
    out.outer[i / 128] = coarse ? scale : 1.0f;
  }
}

inline Operand Coded(const ActivationCodes& codes, const Floats& x) {
  Operand out = Plain(x);
  if (codes.element == CodeElement::kNone) return out;
  const std::size_t step = codes.group == 0 ? x.size() : codes.group;
  for (std::size_t first = 0; first < x.size(); first += step)
    CodeGroup(codes, x, first, std::min(x.size(), first + step), out);
  return out;
}

// Chunks of 128 apart where the model promotes; else one chain, the coarse scales at its end.
inline float TensorDot(const AccumulateModel& model, const Operand& w, const Operand& x,
                       bool backward) {
  const std::size_t size = x.core.size();
  const std::size_t chunk = model.promote == 0 ? size : model.promote;
  AccumulateModel inside = model;
  inside.promote = 0;
  float total = 0;
  for (std::size_t first = 0; first < size; first += chunk) {
    const std::size_t count = std::min(chunk, size - first);
    Floats a(w.core.begin() + first, w.core.begin() + first + count);
    Floats b(x.core.begin() + first, x.core.begin() + first + count);
    if (backward) {
      std::reverse(a.begin(), a.end());
      std::reverse(b.begin(), b.end());
    }
    const float sum = TensorCoreDot(inside, a, b);
    total += sum * (w.outer[first / 128] * x.outer[first / 128]);
  }
  return total;
}

inline float Product(const Summing& summing, const Operand& w, const Operand& x) {
  if (!summing.fp32) return TensorDot(summing.tensor, w, x, summing.backward);
  Floats a(x.core.size()), b(x.core.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = w.At(i);
    b[i] = x.At(i);
  }
  return summing.fp32(a, b);
}

inline float StoreAs(Store store, float x) { return store == Store::kBf16 ? ToBf16(x) : x; }

inline Floats Times(const Summing& summing, const PackedMatrix& m, const Operand& x) {
  Floats out;
  for (int row = 0; row < m.rows; ++row) out.push_back(Product(summing, WeightRow(m, row), x));
  return out;
}

// `x` moved by `ulps` units up or down, as the last bit of `chance` says.
inline float Nudged(float x, int ulps, float chance) {
  const bool up = (std::bit_cast<std::uint32_t>(chance) >> 16 & 1) != 0;
  for (; ulps > 0; --ulps) x = std::nextafter(x, up ? HUGE_VALF : 0.0f);
  return x;
}

// __expf: 2^(x log2 e), whose argument is rounded; __fdividef; tanh.approx at its worst.
inline float FastActivate(const Contract& c, float g, float u) {
  if (c.exp == ExpVariant::kTanhApprox) {
    const double worst =
        std::bit_cast<std::uint32_t>(g) >> 16 & 1 ? 1 + 0x1.FFp-12 : 1 - 0x1.FFp-12;
    return g * (0.5f + 0.5f * static_cast<float>(std::tanh(0.5 * g) * worst)) * u;
  }
  const float e = Nudged(std::exp2(-g * 1.44269504f), 1, g);
  const float divisor = 1.0f + e;
  return c.silu == SiluForm::kMultiply ? g * Nudged(1.0f / divisor, 2, -g) * u
                                       : Nudged(g / divisor, 2, u) * u;
}

inline float Activate(const Contract& c, float g, float u) {
  if (c.exp != ExpVariant::kLibrary) return FastActivate(c, g, u);
  if (c.silu == SiluForm::kMultiply) return g * (1.0f / (1.0f + std::exp(-g))) * u;
  return g / (1.0f + std::exp(-g)) * u;
}

// High and low parts: two products, added.
inline Floats DownOfPair(const Summing& summing, const PackedMatrix& down, const Floats& act) {
  Floats high, low;
  for (const float a : act) {
    high.push_back(ToBf16(a));
    low.push_back(ToBf16(a - ToBf16(a)));
  }
  Floats out = Times(summing, down, Plain(high));
  const Floats rest = Times(summing, down, Plain(low));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] += rest[i];
  return out;
}

inline Floats RunExpert(const Contract& c, const Summing& summing, const ExpertWeights& e,
                        const Floats& x) {
  const Operand input = Coded(c.input, x);
  const Floats gate = Times(summing, e.gate, input), up = Times(summing, e.up, input);
  Floats act;
  for (std::size_t i = 0; i < gate.size(); ++i)
    act.push_back(
        StoreAs(c.act, Activate(c, StoreAs(c.gate_up, gate[i]), StoreAs(c.gate_up, up[i]))));
  Floats down = c.act == Store::kBf16Pair ? DownOfPair(summing, e.down, act)
                                          : Times(summing, e.down, Coded(c.hidden, act));
  for (float& d : down) d = StoreAs(c.down, d);
  return down;
}

// One row's output before the last rounding.
inline Floats RunRow(const Contract& c, const Summing& summing, const LayerData& layer,
                     const Selection& s, int row) {
  const Problem& p = layer.problem;
  const Floats x = fp32_model::Column(layer, row);
  Floats sum(p.hidden);
  for (int slot = 0; slot < p.top_k; ++slot) {
    const std::size_t at = std::size_t(row) * p.top_k + slot;
    fp32_model::AddScaled(sum, s.weights[at],
                          RunExpert(c, summing, layer.experts.at(s.ids[at]), x));
  }
  if (!layer.shared) return sum;
  if (c.blend == Blend::kTwoRoundings)
    for (float& y : sum) y = ToBf16(y);
  Floats gate;
  for (const std::uint16_t bits : layer.shared_gate) gate.push_back(Bf16ToFloat(bits));
  const float factor =
      gate.empty() ? 1.0f : fp32_model::Logistic(fp32_model::LanesAndTree(gate, x));
  fp32_model::AddScaled(sum, factor, RunExpert(c, summing, *layer.shared, x));
  return sum;
}

inline Floats Run(const Contract& c, const Summing& summing, const LayerData& layer,
                  const Selection& selection) {
  Floats out;
  for (int row = 0; row < layer.problem.rows; ++row) {
    const Floats y = RunRow(c, summing, layer, selection, row);
    out.insert(out.end(), y.begin(), y.end());
  }
  return out;
}

}  // namespace assay::contract_model
