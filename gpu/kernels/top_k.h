// Selection and routing weights, one warp a token. Lane l holds outputs l, l + 32, ...; at most
// 1,024 outputs, 32 chosen and 32 groups. Equal scores: the tie rule decides (lower index by
// contract).
#pragma once

#include "gpu/kernels/router_scores.h"
#include "gpu/kernels/router_tensors.h"

namespace assay {

// A score and its output; output -1 means "none left".
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

template <class TieRule>
constexpr Candidate WarpBest(Context auto& context, Candidate best) {
  for (int apart = kWarpSize / 2; apart > 0; apart /= 2) {
    const Candidate other{context.ShuffleXor(best.score, apart),
                          context.ShuffleXor(best.expert, apart)};
    if (TieRule::Better(other, best)) best = other;
  }
  return best;
}

constexpr float WarpMax(Context auto& context, float value) {
  for (int apart = kWarpSize / 2; apart > 0; apart /= 2)
    value = fmaxf(value, context.ShuffleXor(value, apart));
  return value;
}

template <bool kChecked>
struct TopKArgs {
  int rows;
  RouterSpec router;
  LogitView<kChecked> logits;        // [rows, outputs]
  View<const float, kChecked> bias;  // [outputs], or empty
  bool has_bias;
  View<const std::int64_t, kChecked> hash_table;  // [vocabulary, top_k], or empty
  View<const std::uint32_t, kChecked> token_ids;  // [rows], or empty
  View<std::uint32_t, kChecked> ids;              // [rows, top_k]
  View<float, kChecked> weights;                  // [rows, top_k]
  View<float, kChecked> identity_weights;         // [rows], or empty without identity experts
};

// The row of one warp: scores of its outputs, selection among them.
template <class Arithmetic, class TieRule, class C, bool kChecked>
class RouteRow {
 public:
  constexpr RouteRow(C& context, const TopKArgs<kChecked>& args)
      : context_(context), args_(args), router_(args.router), row_(context.Block().x) {
    if (Arithmetic::NeedsSoftmax(router_.kind)) TakeSoftmax();
  }

  // The output of slot `lane`, or -1.
  constexpr int Choose() {
    const std::uint32_t kept = router_.IsGrouped() ? KeptGroups() : ~0u;
    std::uint32_t taken = 0;  // bit i: output lane + 32 i
    int mine = -1;
    for (int slot = 0; slot < router_.top_k; ++slot) {
      const Candidate best = WarpBest<TieRule>(context_, LaneBest(taken, kept));
      if (best.expert >= 0 && best.expert % kWarpSize == Lane())
        taken |= 1u << (best.expert / kWarpSize);
      if (slot == Lane()) mine = best.expert >= 0 ? best.expert : Arithmetic::kNoneLeft;
    }
    return mine;
  }

  // The same where a table says it.
  constexpr int LookUp() {
    if (Lane() >= router_.top_k) return -1;
    const Index token = args_.token_ids.Load(context_, row_);
    const std::int64_t id = args_.hash_table.Load(context_, token * router_.top_k + Lane());
    const int expert = Arithmetic::FromTable(id, router_.experts);
    return expert >= 0 && Arithmetic::MayBeChosen(Logit(expert)) ? expert : -1;
  }

  // Every lane takes part; `mine` is -1 in those without a slot.
  constexpr void Store(int mine) {
    const float score = ScoreOf(mine);
    const float sum = context_.WarpSum(score);
    const bool whole = context_.WarpSum(mine >= 0 ? 1.0f : 0.0f) ==
                       static_cast<float>(router_.top_k);  // else the row is refused
    const bool chosen = whole && mine >= 0;
    const bool identity = chosen && Arithmetic::IsIdentity(router_, mine);
    const float weight = chosen ? Arithmetic::Weight(router_, score, sum) : 0.0f;
    StoreIdentity(context_.WarpSum(identity ? weight : 0.0f));
    if (Lane() >= router_.top_k) return;
    const Index at = Index{row_} * router_.top_k + Lane();
    args_.ids.Store(context_, at,
                    !chosen    ? kNoExpert
                    : identity ? 0u
                               : static_cast<std::uint32_t>(mine));
    args_.weights.Store(context_, at, identity ? 0.0f : weight);
  }

 private:
  constexpr int Lane() const { return context_.Thread(); }
  constexpr float Logit(int output) const {
    return args_.logits.Load(context_, Index{row_} * router_.outputs + output);
  }
  constexpr float BiasOf(int output) const {
    return args_.has_bias ? args_.bias.Load(context_, output) : 0.0f;
  }

  constexpr void TakeSoftmax() {
    float maximum = kNeverChosen;
    for (int e = Lane(); e < router_.outputs; e += kWarpSize) {
      const float logit = Logit(e);
      if (IsFinite(logit)) maximum = fmaxf(maximum, logit);
    }
    all_.maximum = WarpMax(context_, maximum);
    float sum = 0.0f;
    for (int e = Lane(); e < router_.outputs; e += kWarpSize) {
      const float logit = Logit(e);
      if (IsFinite(logit)) sum += Exp(logit - all_.maximum);
    }
    all_.denominator = context_.WarpSum(sum);
  }

  constexpr float RankOf(int output) const {
    const float logit = Logit(output);
    if (!Arithmetic::MayBeChosen(logit)) return kNeverChosen;
    return Arithmetic::Rank(router_.kind, logit, BiasOf(output), all_);
  }

  constexpr Candidate LaneBest(std::uint32_t taken, std::uint32_t kept) const {
    Candidate best{0.0f, -1};
    for (int e = Lane(); e < router_.outputs; e += kWarpSize) {
      if ((taken >> (e / kWarpSize) & 1u) != 0) continue;
      float rank = RankOf(e);
      if (router_.IsGrouped() && (kept >> (e / router_.GroupSize()) & 1u) == 0)
        rank = Arithmetic::Dropped(rank);
      const Candidate candidate{rank, e};
      if (rank > kNeverChosen && TieRule::Better(candidate, best)) best = candidate;
    }
    return best;
  }

  // Lane g ranks group g; one bit for each group that is kept.
  constexpr std::uint32_t KeptGroups() {
    const Candidate mine{Lane() < router_.groups ? RankOfGroup(Lane()) : kNeverChosen, Lane()};
    std::uint32_t kept = 0;
    for (int i = 0; i < router_.groups_kept; ++i) {
      const bool out = (kept >> Lane() & 1u) != 0 || Lane() >= router_.groups;
      const Candidate best = WarpBest<TieRule>(context_, out ? Candidate{0.0f, -1} : mine);
      kept |= 1u << best.expert;
    }
    return kept;
  }

  constexpr float RankOfGroup(int group) const {
    float best = kNeverChosen, second = kNeverChosen;
    const int first = group * router_.GroupSize();
    for (int e = first; e < first + router_.GroupSize(); ++e) {
      const float rank = RankOf(e);
      second = fmaxf(second, fminf(best, rank));
      best = fmaxf(best, rank);
    }
    return Arithmetic::GroupRank(best, second);
  }

  constexpr float ScoreOf(int mine) const {
    const bool over_chosen = router_.kind == RouterKind::kTopkSoftmax;
    const float logit = mine >= 0 ? Logit(mine) : kNeverChosen;
    const float maximum = over_chosen ? WarpMax(context_, logit) : 0.0f;
    if (mine < 0) return 0.0f;
    if (over_chosen) return Exp(logit - maximum);
    return Arithmetic::Weighed(Arithmetic::Score(router_.kind, logit, all_), BiasOf(mine));
  }

  constexpr void StoreIdentity(float sum) {
    if (router_.outputs > router_.experts && Lane() == 0)
      args_.identity_weights.Store(context_, row_, sum);
  }

  C& context_;
  const TopKArgs<kChecked>& args_;
  const RouterSpec& router_;
  const int row_;
  SoftmaxOfRow all_;
};

template <class Arithmetic, class TieRule, bool kChecked>
struct TopKRoute {
  static constexpr int kThreads = kWarpSize;
  using Args = TopKArgs<kChecked>;

  static LaunchShape Shape(const Args& args) { return {{args.rows, 1, 1}, kThreads}; }

  template <class C>
  constexpr void operator()(C& context, const Args& args) const {
    RouteRow<Arithmetic, TieRule, C, kChecked> row(context, args);
    row.Store(args.router.kind == RouterKind::kHash ? row.LookUp() : row.Choose());
  }
};

}  // namespace assay
