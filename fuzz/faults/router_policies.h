// Wrong routers: each differs from production's in the one thing that its fault is about.
#pragma once

#include "gpu/dispatch/path_program.h"

namespace assay::faults {

// Scores and weights.
struct NaiveSoftplus : RouterArithmetic {  // log(1 + e^l): infinite above 88, 0 below -17
  static constexpr float Score(RouterKind kind, float logit, const SoftmaxOfRow& all) {
    const float sum = 1.0f + Exp(logit);
    if (!IsFinite(sum)) return sum;
    return sum == 1.0f ? 0.0f : RouterArithmetic::Score(kind, logit, all);
  }
  static constexpr float Rank(RouterKind kind, float logit, float bias, const SoftmaxOfRow& all) {
    return Score(kind, logit, all) + bias;
  }
};
struct EpsilonAdded : RouterArithmetic {
  static constexpr float Weight(const RouterSpec& router, float score, float sum) {
    return RouterArithmetic::Weight(router, score, sum + 1e-6f);
  }
};
struct ScaledTwice : RouterArithmetic {
  static constexpr float Weight(const RouterSpec& router, float score, float sum) {
    return RouterArithmetic::Weight(router, score, sum) * router.scale;
  }
};
struct NotScaled : RouterArithmetic {
  static constexpr float Weight(RouterSpec router, float score, float sum) {
    router.scale = 1.0f;
    return RouterArithmetic::Weight(router, score, sum);
  }
};
struct BiasInWeight : RouterArithmetic {
  static constexpr float Weighed(float score, float bias) { return score + bias; }
};

// Selection.
struct GroupsByBest : RouterArithmetic {
  static constexpr float GroupRank(float best, float) { return best; }
};
struct DroppedGroupsAreZero : RouterArithmetic {
  static constexpr float Dropped(float) { return 0.0f; }
};
struct NanWins : RouterArithmetic {
  static constexpr bool MayBeChosen(float) { return true; }
  static constexpr float Rank(RouterKind kind, float logit, float bias, const SoftmaxOfRow& all) {
    if (logit != logit) return std::numeric_limits<float>::max();
    return RouterArithmetic::Rank(kind, logit, bias, all);
  }
};
struct IndexZeroRepeated : RouterArithmetic {
  static constexpr int kNoneLeft = 0;
};
struct StrayIdsAreZero : RouterArithmetic {
  static constexpr int FromTable(std::int64_t id, int experts) {
    return id >= 0 && id < experts ? static_cast<int>(id) : 0;
  }
};
struct IdentityStays : RouterArithmetic {
  static constexpr bool IsIdentity(const RouterSpec&, int) { return false; }
};
template <class Wrong>
struct WithArithmetic : ProductionPolicy {
  using Arithmetic = Wrong;
};

// Dispatch.
struct SigmoidForAll : RouteRule {  // what a dispatch does that only looks for a bias
  static constexpr RouterKind KindOf(RouterKind kind) {
    return HasScoreBias(kind) ? RouterKind::kSigmoidBias : RouterKind::kSoftmax;
  }
};
struct StrideByExperts : RouteRule {
  static int LogitStride(const Problem& p) { return p.experts; }
};
template <class Wrong>
struct WithRoute : ProductionPolicy {
  using RouteRule = Wrong;
};

// The gate.
struct LanesOfChunks : GateRule {  // each lane its own stretch of columns
  static constexpr int Chunk(int hidden) { return CeilDiv(hidden, kWarpSize); }
  static constexpr int First(int lane, int hidden) { return lane * Chunk(hidden); }
  static constexpr int Step() { return 1; }
  static constexpr int End(int lane, int hidden) {
    return First(lane + 1, hidden) < hidden ? First(lane + 1, hidden) : hidden;
  }
};
struct Fp32GateIgnored : GateRule {
  static constexpr float Fp32(float sum) { return Bf16::Round(sum).ToFloat(); }
};
template <class Wrong>
struct WithGate : ProductionPolicy {
  using GateRule = Wrong;
};

// LoRA.
struct LowRankNotRounded : LoraRule {
  static constexpr float Low(float sum) { return sum; }
};
struct DeltaNotRounded : LoraRule {
  static constexpr float Delta(float sum) { return sum; }
};
struct RowsWithoutAdapterToo : LoraRule {
  static constexpr int Adapter(int of_row) { return of_row < 0 ? 0 : of_row; }
};

}  // namespace assay::faults
