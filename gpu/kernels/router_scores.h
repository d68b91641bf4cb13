// What each router ranks, and what its weights are. One rule for every kind, by a switch that is
// the same for all threads: the single and the batched form of a router are one code.
//
// Logits that are not finite are never chosen and take no part in a softmax or a group. A row with
// fewer finite ones than it must choose, or whose hash table names another one or an expert that
// does not exist, is refused: all its slots hold kNoExpert and weight 0.
#pragma once

#include "gpu/kernels/numeric.h"
#include "reference/problem.h"

namespace assay {

struct RouterSpec {
  RouterKind kind;
  bool norm;
  float scale;
  int experts, outputs;  // identity experts are the outputs from `experts` on
  int top_k;
  int groups, groups_kept;

  constexpr int GroupSize() const { return outputs / groups; }
  constexpr bool IsGrouped() const { return kind == RouterKind::kGroupedSigmoidBias && groups > 1; }
};

// A bias on the score, for selection only.
constexpr bool HasScoreBias(RouterKind kind) {
  return kind == RouterKind::kSigmoidBias || kind == RouterKind::kSqrtsoftplusBias ||
         kind == RouterKind::kSoftmaxBias || kind == RouterKind::kGroupedSigmoidBias;
}

inline constexpr float kNeverChosen = -std::numeric_limits<float>::infinity();

constexpr bool IsFinite(float x) { return fabsf(x) <= std::numeric_limits<float>::max(); }

// Softmax over all outputs of a row.
struct SoftmaxOfRow {
  float maximum = 0.0f, denominator = 1.0f;
  constexpr float Of(float logit) const { return Exp(logit - maximum) / denominator; }
};

struct RouterArithmetic {
  static constexpr bool NeedsSoftmax(RouterKind kind) {
    return kind == RouterKind::kSoftmax || kind == RouterKind::kSoftmaxBias;
  }
  // Softmax and sigmoid grow with the logit: without a bias the logits themselves are ranked.
  static constexpr bool RanksLogits(RouterKind kind) {
    return kind == RouterKind::kSoftmax || kind == RouterKind::kTopkSoftmax ||
           kind == RouterKind::kSigmoidTop1;
  }
  // An expert's weight before it is normalised; softmax over the chosen starts from the logit.
  static constexpr float Score(RouterKind kind, float logit, const SoftmaxOfRow& all) {
    switch (kind) {
      case RouterKind::kSoftmax:
      case RouterKind::kSoftmaxBias:
        return all.Of(logit);
      case RouterKind::kTopkSoftmax:
        return logit;
      case RouterKind::kSqrtsoftplusBias:
      case RouterKind::kHash:
        return Sqrt(Softplus(logit));
      default:
        return Sigmoid(logit);
    }
  }
  static constexpr float Rank(RouterKind kind, float logit, float bias, const SoftmaxOfRow& all) {
    return RanksLogits(kind) ? logit : Score(kind, logit, all) + bias;
  }
  // Groups are ranked by the sum of their two best; a group of one has no second.
  static constexpr float GroupRank(float best, float second) {
    return second > kNeverChosen ? best + second : best;
  }
  // What the rank of an expert becomes whose group was dropped.
  static constexpr float Dropped(float) { return kNeverChosen; }
  // The plain softmax divides by any sum and has no factor; the others divide by a sum above 1e-20.
  static constexpr float Weight(const RouterSpec& router, float score, float sum) {
    switch (router.kind) {
      case RouterKind::kSoftmax:
        return router.norm ? score / sum : score;
      case RouterKind::kTopkSoftmax:
        return score / sum;
      case RouterKind::kSoftmaxBias:
      case RouterKind::kSigmoidTop1:
        return score * router.scale;
      default:
        return (router.norm && sum > 1e-20f ? score / sum : score) * router.scale;
    }
  }
  // Weights come from the unbiased score.
  static constexpr float Weighed(float score, float) { return score; }
  // The expert of a table's entry; -1 if there is none.
  static constexpr int FromTable(std::int64_t id, int experts) {
    return id >= 0 && id < experts ? static_cast<int>(id) : -1;
  }
  static constexpr bool IsIdentity(const RouterSpec& router, int output) {
    return output >= router.experts;
  }
  static constexpr bool MayBeChosen(float logit) { return IsFinite(logit); }
  static constexpr int kNoneLeft = -1;  // what a slot takes when no output is left
};

}  // namespace assay
