// Wrong policies: each differs from production's in the one thing that its fault is about.
#pragma once

#include "gpu/dispatch/path_program.h"

namespace assay::faults {

// Formats.
struct E8m0AsE4m3 : Mxfp4Kernel {
  static constexpr float Scale(std::uint8_t code, float) { return DecodeE4m3(code); }
};
struct TailUsesPreviousGroup : Nvfp4Kernel {
  static constexpr int GroupOf(int column, int columns) {
    const int group = column / kGroup;
    return group > 0 && group == columns / kGroup - 1 ? group - 1 : group;
  }
};
struct SwappedNibbles : Nvfp4Kernel {
  static constexpr float Code(std::uint32_t word, int nibble) {
    return DecodeE2m1(word >> (4 * (nibble ^ 1)));
  }
};
struct WithoutScale2 : Nvfp4Kernel {
  static constexpr float Scale(std::uint8_t code, float) { return DecodeE4m3(code); }
};
struct FlushedSubnormalScales : Nvfp4Kernel {
  static constexpr float Scale(std::uint8_t code, float global) {
    return (code & 0x78) == 0 ? 0.0f : Nvfp4Kernel::Scale(code, global);
  }
};
struct TruncatedScale : Nvfp4Kernel {
  static constexpr float Scale(std::uint8_t code, float global) {
    const auto bits = std::bit_cast<std::uint32_t>(Nvfp4Kernel::Scale(code, global));
    return std::bit_cast<float>(bits & 0xFFFF0000u);
  }
};

struct Fp8ScalesOf64 : Fp8Kernel {
  static constexpr int kBlock = 64;
};

// Equal scores: the later lane wins, then the later expert of the lane.
struct LaterLaneWins {
  static constexpr bool Better(const Candidate& a, const Candidate& b) {
    if (a.expert < 0 || b.expert < 0) return b.expert < 0 && a.expert >= 0;
    if (a.score != b.score) return a.score > b.score;
    const int lane_a = a.expert % kWarpSize, lane_b = b.expert % kWarpSize;
    return lane_a != lane_b ? lane_a > lane_b : a.expert > b.expert;
  }
};

// Blends.
struct GateIgnored : BlendRule {
  static constexpr float Factor(float) { return 1.0f; }
};
struct LastSlotDropped : BlendRule {
  static constexpr int Slots(int top_k) { return top_k - 1; }
};
struct Truncated : BlendRule {
  static constexpr Bf16 Round(float value) {
    return {static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16)};
  }
};

// Policies of a whole path.
template <class Format>
struct WithNvfp4 : ProductionPolicy {
  using Nvfp4 = Format;
};
template <class Format>
struct WithMxfp4 : ProductionPolicy {
  using Mxfp4 = Format;
  using Mxfp4Standard = Format;
};
template <class Format>
struct WithFp8 : ProductionPolicy {
  using Fp8 = Format;
};
template <class Rule>
struct WithBlend : ProductionPolicy {
  using BlendRule = Rule;
};
template <class Steps>
struct WithFinish : ProductionPolicy {
  using Finish = Steps;
};
struct WithLaterLane : ProductionPolicy {
  using TieRule = LaterLaneWins;
};

}  // namespace assay::faults
