// Test helper: FP32 evaluations of the production contract in several orders of summation, and with
// faults. Independent of the reference: own decoders, own loops, float arithmetic.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <vector>

#include "reference/bf16.h"
#include "reference/expected.h"
#include "reference/formats.h"
#include "reference/routing.h"

namespace assay::fp32_model {

using Floats = std::vector<float>;

// 2^(code - 127) for codes 1..254.
inline float PowerByBits(int code) { return std::bit_cast<float>(std::uint32_t(code) << 23); }

// Block scales: production reads the codes 0 and 255 as 0.
inline float BlockScale(int code) { return code == 0 || code == 255 ? 0.0f : PowerByBits(code); }

inline float E2m1ByHand(int code) {
  static constexpr float kMagnitudes[] = {0, .5f, 1, 1.5f, 2, 3, 4, 6};
  return (code & 8 ? -1.0f : 1.0f) * kMagnitudes[code & 7];
}

inline float E4m3ByHand(int code) {
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  return exponent == 0 ? mantissa * PowerByBits(127 - 9)
                       : (8 + mantissa) * PowerByBits(127 + exponent - 10);
}

inline float FloatAt(const std::vector<std::uint8_t>& bytes, std::size_t index) {
  float value;
  std::memcpy(&value, bytes.data() + 4 * index, 4);
  return value;
}

// fl(code * scale); NaN codes count as 0.
inline float Fp8ByHand(const PackedMatrix& m, int row, int column) {
  const int byte = m.payload[std::size_t(row) * m.columns + column];
  const float code =
      (byte & 0x7F) == 0x7F ? 0.0f : (byte & 0x80 ? -1.0f : 1.0f) * E4m3ByHand(byte & 0x7F);
  if (m.format == Format::kFp8Channel) return code * FloatAt(m.scales, row);
  if (m.format == Format::kMxfp8)
    return code * BlockScale(m.scales[std::size_t(row) * ((m.columns + 31) / 32) + column / 32]);
  return code *
         FloatAt(m.scales, std::size_t(row / 128) * ((m.columns + 127) / 128) + column / 128);
}

// (code - zero point) * scale, in GPTQ's order of words.
inline float Int4ByHand(const PackedMatrix& m, int row, int column) {
  const auto word = [](const std::vector<std::uint8_t>& bytes, std::size_t at) {
    std::uint32_t value;
    std::memcpy(&value, bytes.data() + 4 * at, 4);
    return value;
  };
  const int group = column / (m.format == Format::kInt4G32 ? 32 : 128);
  const int code = word(m.payload, std::size_t(column / 8) * m.rows + row) >> (column % 8 * 4) & 15;
  const int zero = word(m.zeros, std::size_t(group) * (m.rows / 8) + row / 8) >> (row % 8 * 4) & 15;
  std::uint16_t half;
  std::memcpy(&half, m.scales.data() + 2 * (std::size_t(group) * m.rows + row), 2);
  const float scale = (1024 + (half & 1023)) * PowerByBits(127 - 25 + (half >> 10));
  return (code - zero - 1) * scale;
}

// The weight as a kernel forms it.
inline float WeightAtPosition(const PackedMatrix& m, int row, int column) {
  const std::size_t at = std::size_t(row) * m.columns + column;
  if (m.format == Format::kBf16)
    return Bf16ToFloat(static_cast<std::uint16_t>(m.payload[2 * at] | m.payload[2 * at + 1] << 8));
  if (IsInt4(m.format)) return Int4ByHand(m, row, column);
  if (IsFp8(m.format)) return Fp8ByHand(m, row, column);
  const int code = m.payload[at / 2] >> (column % 2 * 4) & 15;
  if (m.format == Format::kMxfp4) return E2m1ByHand(code) * BlockScale(m.scales[at / 32]);
  return E2m1ByHand(code) * (E4m3ByHand(m.scales[at / 16]) * m.global_scale);
}

// An order in which a kernel may sum products a[i] * b[i].
using Dot = std::function<float(const Floats&, const Floats&)>;

inline float Forward(const Floats& a, const Floats& b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum = std::fma(a[i], b[i], sum);
  return sum;
}

inline float BackwardUnfused(const Floats& a, const Floats& b) {
  float sum = 0;
  for (std::size_t i = a.size(); i-- > 0;) {
    const float product = a[i] * b[i];
    sum += product;
  }
  return sum;
}

inline float LanesAndTree(const Floats& a, const Floats& b) {
  float lanes[32] = {};
  for (std::size_t i = 0; i < a.size(); ++i) lanes[i % 32] = std::fma(a[i], b[i], lanes[i % 32]);
  for (int step = 16; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  return lanes[0];
}

inline float LanesOfSixteen(const Floats& a, const Floats& b) {
  float lanes[32] = {};
  for (std::size_t i = 0; i < a.size(); ++i) {
    float& lane = lanes[i / 16 % 32];
    lane = std::fma(a[i], b[i], lane);
  }
  for (int step = 16; step > 0; step /= 2)
    for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  return lanes[0];
}

// All positive products first: the largest partial sums.
inline float SignSorted(const Floats& a, const Floats& b) {
  float positive = 0, negative = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const float product = a[i] * b[i];
    (product > 0 ? positive : negative) += product;
  }
  return positive + negative;
}

inline float ToBf16(float x) { return Bf16ToFloat(FloatToBf16(x)); }
inline float Truncated(float x) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0xFFFF0000u);
}
inline float Logistic(float x) { return 1.0f / (1.0f + std::exp(-x)); }

// What a kernel does; the defaults are right, every other choice is a fault.
struct Model {
  Dot dot = Forward;
  float (*store)(float) = ToBf16;
  bool act_in_bf16 = false, shared_gate = true, last_slot = true;
};

inline Floats Column(const LayerData& layer, int row) {
  Floats x;
  for (int i = 0; i < layer.problem.hidden; ++i)
    x.push_back(Bf16ToFloat(layer.input[std::size_t(row) * layer.problem.hidden + i]));
  return x;
}

inline Floats Times(const Model& model, const PackedMatrix& m, const Floats& x,
                    const std::vector<std::uint16_t>& bias = {}) {
  Floats out, weights(m.columns);
  for (int row = 0; row < m.rows; ++row) {
    for (int i = 0; i < m.columns; ++i) weights[i] = WeightAtPosition(m, row, i);
    const float sum = model.dot(weights, x);
    out.push_back(model.store(bias.empty() ? sum : sum + Bf16ToFloat(bias[row])));
  }
  return out;
}

// What the layer's activation makes of gate and up (its clamp before it).
inline float Hidden(const Problem& p, float g, float u) {
  if (p.limit > 0) {
    const auto limit = static_cast<float>(p.limit);
    g = std::fmin(g, limit);
    u = std::fmax(std::fmin(u, limit), -limit);
  }
  switch (p.activation) {
    case Activation::kSilu:
      return (g / (1.0f + std::exp(-g))) * u;
    case Activation::kGeluTanh:
      return 0.5f * g * (1.0f + std::tanh(0.7978845608f * (g + 0.044715f * g * g * g))) * u;
    case Activation::kSwigluOai:
      return (g / (1.0f + std::exp(-1.702f * g))) * (u + 1.0f);
    case Activation::kRelu2:
      return u > 0 ? u * u : 0;
  }
  return 0;
}

inline Floats RunExpert(const Model& model, const Problem& p, const ExpertWeights& e,
                        const Floats& x) {
  const Floats up = Times(model, e.up, x, e.up_bias);
  const Floats gate =
      p.activation == Activation::kRelu2 ? up : Times(model, e.gate, x, e.gate_bias);
  Floats act;
  for (std::size_t i = 0; i < up.size(); ++i) {
    const float value = Hidden(p, gate[i], up[i]);
    act.push_back(model.act_in_bf16 ? ToBf16(value) : value);
  }
  return Times(model, e.down, act, e.down_bias);
}

inline void AddScaled(Floats& sum, float weight, const Floats& values) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * values[i];
}

// Identity experts give the input back; sigmoid_top1 puts the weight on the input.
inline void AddSlot(const Model& model, const LayerData& layer, const Selection& s, std::size_t at,
                    Floats x, Floats& sum) {
  const Problem& p = layer.problem;
  float weight = s.weights[at];
  if (s.ids[at] >= unsigned(p.experts)) return AddScaled(sum, weight, x);
  if (p.router == RouterKind::kSigmoidTop1) {
    for (float& v : x) v = ToBf16(v * weight);
    weight = 1;
  }
  AddScaled(sum, weight, RunExpert(model, p, layer.experts.at(s.ids[at]), x));
}

inline Floats RunRow(const Model& model, const LayerData& layer, const Selection& s, int row) {
  const Problem& p = layer.problem;
  const Floats x = Column(layer, row);
  Floats sum(p.hidden);
  for (int slot = 0; slot < p.top_k - (model.last_slot ? 0 : 1); ++slot)
    AddSlot(model, layer, s, std::size_t(row) * p.top_k + slot, x, sum);
  if (layer.shared) {
    Floats gate;
    for (const std::uint16_t bits : layer.shared_gate) gate.push_back(Bf16ToFloat(bits));
    const bool gated = model.shared_gate && !gate.empty();
    AddScaled(sum, gated ? Logistic(model.dot(gate, x)) : 1.0f,
              RunExpert(model, p, *layer.shared, x));
  }
  for (float& y : sum) y = model.store(y);
  return sum;
}

inline Floats RunModel(const Model& model, const LayerData& layer, const Selection& selection) {
  Floats out;
  for (int row = 0; row < layer.problem.rows; ++row) {
    const Floats y = RunRow(model, layer, selection, row);
    out.insert(out.end(), y.begin(), y.end());
  }
  return out;
}

inline Selection Choose(const LayerData& layer, const RouterExpected& router) {
  const Problem& p = layer.problem;
  Selection selection;
  for (int row = 0; row < p.rows; ++row) {
    std::vector<double> stored;
    for (int e = 0; e < p.experts; ++e)
      stored.push_back(RoundToBf16(router.logits[std::size_t(row) * p.experts + e]));
    const auto ids = TopK(SelectionScores(p, stored, layer.router_bias), p.top_k);
    for (const double w : RouteWeights(p, stored, ids).weights)
      selection.weights.push_back(static_cast<float>(w));
    selection.ids.insert(selection.ids.end(), ids.begin(), ids.end());
  }
  return selection;
}

inline long Outside(const OutputExpected& expected, const Floats& output) {
  long outside = 0;
  for (std::size_t i = 0; i < output.size(); ++i) outside += !expected.stored[i].Holds(output[i]);
  return outside;
}

}  // namespace assay::fp32_model
