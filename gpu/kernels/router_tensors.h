// The router's weights and logits as kernels see them, in the formats that they come in.
#pragma once

#include "gpu/kernels/formats.h"

namespace assay {

// [outputs, hidden]: BF16, or NVFP4 row-major in bytes of two columns.
template <bool kChecked>
struct GateWeights {
  View<const Bf16, kChecked> bf16;
  View<const std::uint8_t, kChecked> payload, scale;
  float global_scale = 0.0f;
  bool packed = false;

  constexpr float Load(Context auto& context, int hidden, int output, int column) const {
    const Index at = Index{output} * hidden + column;
    if (!packed) return bf16.Load(context, at).ToFloat();
    const std::uint32_t pair = payload.LoadFor(context, {output, column}, at / 2);
    const std::uint8_t code = scale.LoadFor(context, {output, column}, at / Nvfp4Kernel::kGroup);
    return Nvfp4Kernel::Code(pair, column % 2) * Nvfp4Kernel::Scale(code, global_scale);
  }
};

// [rows, outputs], stored as BF16, or as FP32 where the gate is FP32.
template <bool kChecked>
struct LogitView {
  View<const Bf16, kChecked> bf16;
  View<const float, kChecked> fp32;
  bool is_fp32 = false;

  constexpr float Load(Context auto& context, Index at) const {
    return is_fp32 ? fp32.Load(context, at) : bf16.Load(context, at).ToFloat();
  }
  constexpr LogitView Part(Index begin, Index count) const {
    if (is_fp32) return {bf16, fp32.Part(begin, count), true};
    return {bf16.Part(begin, count), fp32, false};
  }
};

}  // namespace assay
