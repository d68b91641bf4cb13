// Top-k selection and routing weights, one warp a token. Lane l holds experts l, l + 32, ...; at
// most 1,024 experts and 32 chosen. Equal scores: the tie rule decides (lower index by contract).
#pragma once

#include "gpu/core/view.h"
#include "gpu/kernels/numeric.h"

namespace assay {

// A score and its expert; expert -1 means "none left".
struct Candidate {
  float score;
  int expert;
};

struct LowerIndexWins {
  static constexpr bool Better(const Candidate& a, const Candidate& b) {
    if (a.expert < 0 || b.expert < 0) return b.expert < 0 && a.expert >= 0;
    return a.score > b.score || (a.score == b.score && a.expert < b.expert);
  }
};

// Selection on the logits, weight = softmax over all experts, divided by the sum of the chosen if
// `norm`. No scaling factor.
struct SoftmaxScores {
  static constexpr float Score(float logit, float) { return logit; }
  template <class Load>
  static constexpr float Denominator(Context auto& context, int experts, const Load& logit,
                                     float& maximum) {
    const int lane = context.Thread() % kWarpSize;
    maximum = -std::numeric_limits<float>::infinity();
    for (int e = lane; e < experts; e += kWarpSize) maximum = fmaxf(maximum, logit(e));
    for (int apart = kWarpSize / 2; apart > 0; apart /= 2)
      maximum = fmaxf(maximum, context.ShuffleXor(maximum, apart));
    float sum = 0.0f;
    for (int e = lane; e < experts; e += kWarpSize) sum += Exp(logit(e) - maximum);
    return context.WarpSum(sum);
  }
  static constexpr float Weight(float logit, float maximum, float denominator) {
    return Exp(logit - maximum) / denominator;
  }
  static constexpr float Normalised(float weight, float sum, bool norm, float) {
    return norm ? weight / sum : weight;
  }
};

// Selection on sigmoid(logit) + bias, weight = the unbiased sigmoid, divided by the sum if `norm`
// and the sum exceeds 1e-20, then always times the scaling factor.
struct SigmoidBiasScores {
  static constexpr float Score(float logit, float bias) { return Sigmoid(logit) + bias; }
  template <class Load>
  static constexpr float Denominator(Context auto&, int, const Load&, float& maximum) {
    maximum = 0.0f;
    return 1.0f;
  }
  static constexpr float Weight(float logit, float, float) { return Sigmoid(logit); }
  static constexpr float Normalised(float weight, float sum, bool norm, float scale) {
    return (norm && sum > 1e-20f ? weight / sum : weight) * scale;
  }
};

template <class Scores, class TieRule, bool kChecked>
struct TopKRoute {
  static constexpr int kThreads = kWarpSize;
  static constexpr int kMaxExperts = 1024, kMaxTopK = 32;

  struct Args {
    int rows, experts, top_k;
    bool norm;
    float scale;
    View<const Bf16, kChecked> logits;  // [rows, experts]
    View<const float, kChecked> bias;   // [experts], or empty
    bool has_bias;
    View<std::uint32_t, kChecked> ids;  // [rows, top_k]
    View<float, kChecked> weights;      // [rows, top_k]
  };

  static LaunchShape Shape(const Args& args) { return {{args.rows, 1, 1}, kThreads}; }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const int row = context.Block().x;
    const int lane = context.Thread();
    const auto logit = [&](int expert) {
      return args.logits.Load(context, Index{row} * args.experts + expert).ToFloat();
    };
    float maximum = 0.0f;
    const float denominator = Scores::Denominator(context, args.experts, logit, maximum);
    const int mine = ChooseMine(context, args, logit);
    const bool active = lane < args.top_k && mine >= 0;
    const float weight = active ? Scores::Weight(logit(mine), maximum, denominator) : 0.0f;
    const float sum = context.WarpSum(weight);
    if (lane >= args.top_k) return;
    const Index at = Index{row} * args.top_k + lane;
    args.ids.Store(context, at, static_cast<std::uint32_t>(mine));
    args.weights.Store(context, at, Scores::Normalised(weight, sum, args.norm, args.scale));
  }

 private:
  // The expert of slot `lane`, or -1: every lane takes part in every round.
  template <class Load>
  static constexpr int ChooseMine(Context auto& context, const Args& args, const Load& logit) {
    const int lane = context.Thread();
    std::uint32_t taken = 0;  // bit i: expert lane + 32 i
    int mine = -1;
    for (int slot = 0; slot < args.top_k; ++slot) {
      const Candidate best = WarpBest(context, LaneBest(context, args, logit, taken));
      if (best.expert >= 0 && best.expert % kWarpSize == lane)
        taken |= 1u << (best.expert / kWarpSize);
      if (slot == lane) mine = best.expert;
    }
    return mine;
  }

  template <class Load>
  static constexpr Candidate LaneBest(Context auto& context, const Args& args, const Load& logit,
                                      std::uint32_t taken) {
    Candidate best{0.0f, -1};
    for (int e = context.Thread(); e < args.experts; e += kWarpSize) {
      if ((taken >> (e / kWarpSize) & 1u) != 0) continue;
      const float bias = args.has_bias ? args.bias.Load(context, e) : 0.0f;
      const Candidate candidate{Scores::Score(logit(e), bias), e};
      const bool legal = candidate.score > -std::numeric_limits<float>::infinity();  // NaN: no
      if (legal && TieRule::Better(candidate, best)) best = candidate;
    }
    return best;
  }

  static constexpr Candidate WarpBest(Context auto& context, Candidate best) {
    for (int apart = kWarpSize / 2; apart > 0; apart /= 2) {
      const Candidate other{context.ShuffleXor(best.score, apart),
                            context.ShuffleXor(best.expert, apart)};
      if (TieRule::Better(other, best)) best = other;
    }
    return best;
  }
};

}  // namespace assay
