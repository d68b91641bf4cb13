#include "fuzz/faults/row.h"

namespace assay::faults {
namespace {

using P = const Problem&;

bool IsSqrtsoftplus(P p) { return p.router == RouterKind::kSqrtsoftplusBias; }
bool IsHash(P p) { return p.router == RouterKind::kHash; }
bool IsGrouped(P p) { return p.router == RouterKind::kGroupedSigmoidBias && p.groups > 1; }
bool IsScaled(P p) {
  return p.scale != 1 && p.router != RouterKind::kSoftmax && p.router != RouterKind::kTopkSoftmax;
}
bool HasIdentity(P p) { return p.zero_experts > 0; }
bool FoldsLora(P p) { return p.lora == Lora::kFold; }
bool HasNan(P p) { return p.logits == LogitDraw::kNan; }

const std::vector<PathId> kPerToken = {PathId::kSingle, PathId::kBatched};
const std::vector<PathId> kBatched = {PathId::kBatched};
const std::vector<PathId> kOnlyK3 = {PathId::kK3};

const std::vector<Row> kRows = {
    {"bf16_bias_as_fp32", "tensor read with another element size", "memory",
     "the bias of the scores is a BF16 tensor read as FP32", kPerToken,
     [](P p) { return p.router == RouterKind::kSigmoidBias && p.router_bias; },
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=8 top_k=2 "
     "router=sigmoid_bias router_bias=on"},
    {"biased_score_as_weight", "routing weight", "routing",
     "the weight is the biased score, which is for selection only", kPerToken,
     [](P p) { return p.router == RouterKind::kSigmoidBias || IsSqrtsoftplus(p); },
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=4 top_k=2 "
     "router=sigmoid_bias"},
    {"dropped_group_filled_with_0", "expert selection", "routing",
     "experts of dropped groups score 0 instead of never being chosen", kPerToken, IsGrouped,
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=16 top_k=4 "
     "router=grouped_sigmoid_bias groups=4 groups_kept=1 logits=saturated"},
    {"gate_sums_in_another_order", "gate arithmetic that differs between paths", "fused",
     "K=3 sums a logit in other lanes than every other path, which flips near ties", kOnlyK3,
     [](P p) { return p.hidden > 64 && p.experts >= 64; },
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=2048 inter=16 experts=512 top_k=2 "
     "seed=4"},
    {"group_ranked_by_best", "expert selection", "routing",
     "groups are ranked by their best expert instead of by the sum of their two best", kPerToken,
     IsGrouped,
     "path=batched format=nvfp4 layout=row_major rows=8 hidden=32 inter=16 experts=32 top_k=4 "
     "router=grouped_sigmoid_bias groups=8 groups_kept=2"},
    {"hash_id_mapped_to_0", "index out of range made legal", "routing",
     "an id of the hash table that names no expert becomes expert 0", kPerToken,
     [](P p) { return IsHash(p) && p.routing == RoutingDraw::kStray; },
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=4 top_k=2 "
     "router=hash routing=stray"},
    {"hash_routed_as_softmax", "another router ran than the layer's", "routing",
     "K=3 without its router guard: a hash layer has no bias, so it is routed as softmax", kOnlyK3,
     IsHash,
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=32 inter=16 experts=8 top_k=2 "
     "router=hash"},
    {"identity_slot_not_moved", "identity expert taken for a routed one", "memory",
     "the slot of an identity expert keeps its id: the weight table has no such entry", kPerToken,
     HasIdentity,
     "path=batched format=nvfp4 layout=row_major rows=4 hidden=32 inter=16 experts=4 top_k=3 "
     "router=softmax_bias zero_experts=8"},
    {"index_0_repeated", "too few finite logits", "routing",
     "slots for which no finite logit is left get expert 0 once more", kPerToken, HasNan,
     "path=batched format=nvfp4 layout=row_major rows=2 hidden=32 inter=16 experts=6 top_k=5 "
     "logits=nan"},
    {"k3_ignores_fp32_gate", "undeclared rounding", "routing",
     "K=3 without its guard stores BF16 logits for a layer with an FP32 gate", kOnlyK3,
     [](P p) { return p.fp32_gate; },
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=32 inter=16 experts=8 top_k=2 "
     "fp32_gate=on"},
    {"logits_stride_by_experts", "wrong stride", "routing",
     "rows of logits are taken num_experts apart, not router_logits_n", kBatched,
     [](P p) { return HasIdentity(p) && p.rows > 1; },
     "path=batched format=nvfp4 layout=row_major rows=2 hidden=32 inter=16 experts=8 top_k=2 "
     "router=softmax_bias zero_experts=4"},
    {"logits_without_identity_experts", "buffer too small", "memory",
     "the logits' buffer is sized without the identity experts", kPerToken, HasIdentity,
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=4 top_k=2 "
     "router=softmax_bias zero_experts=4"},
    {"lora_delta_not_rounded", "undeclared rounding", "numeric",
     "the fold adds its delta without rounding it to BF16", kPerToken, FoldsLora,
     "path=batched format=nvfp4 layout=row_major rows=4 hidden=64 inter=32 experts=4 top_k=2 "
     "lora=fold"},
    {"lora_low_rank_not_rounded", "undeclared rounding", "numeric",
     "the fold's first product is not rounded to BF16", kPerToken, FoldsLora,
     "path=batched format=nvfp4 layout=row_major rows=4 hidden=64 inter=32 experts=4 top_k=2 "
     "lora=fold"},
    {"lora_on_row_without_adapter", "adapter of another row", "numeric",
     "a row without an adapter gets the first one", kPerToken, FoldsLora,
     "path=batched format=nvfp4 layout=row_major rows=6 hidden=64 inter=32 experts=4 top_k=2 "
     "lora=fold seed=1"},
    {"lora_refuse_ignored", "guard missing", "numeric",
     "a batch with an adapter marked Refuse runs as if it had none", kPerToken,
     [](P p) { return p.lora == Lora::kRefuse; },
     "path=single format=nvfp4 layout=row_major rows=1 hidden=64 inter=32 experts=4 top_k=2 "
     "lora=refuse"},
    {"nan_logit_chosen", "NaN handling", "routing", "a NaN logit wins every comparison", kPerToken,
     HasNan,
     "path=batched format=nvfp4 layout=row_major rows=2 hidden=32 inter=16 experts=16 top_k=2 "
     "logits=nan"},
    {"norm_epsilon_added", "routing weight", "routing",
     "an epsilon is added to the sum that weights are divided by", kPerToken,
     [](P p) { return p.norm && p.router == RouterKind::kSoftmax; },
     "path=batched format=nvfp4 layout=row_major rows=4 hidden=32 inter=16 experts=32 top_k=2"},
    {"routed_scaling_missing", "routing weight", "routing",
     "the routed scaling factor is not applied", kPerToken, IsScaled,
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=4 top_k=2 "
     "router=sigmoid_bias scale=2.5"},
    {"routed_scaling_twice", "routing weight", "routing",
     "the routed scaling factor is applied twice", kPerToken, IsScaled,
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=4 top_k=2 "
     "router=sqrtsoftplus_bias scale=2.5"},
    {"sqrtsoftplus_overflows", "overflow", "routing",
     "softplus as log(1 + exp(l)): infinite for large logits, 0 for small ones", kPerToken,
     [](P p) { return IsSqrtsoftplus(p) && p.logits == LogitDraw::kSaturated; },
     "path=batched format=nvfp4 layout=row_major rows=4 hidden=32 inter=16 experts=16 top_k=4 "
     "router=sqrtsoftplus_bias logits=saturated"},
    {"sqrtsoftplus_routed_as_sigmoid", "another router ran than the layer's", "routing",
     "K=3 without its router guard: a layer with a bias is routed as sigmoid+bias", kOnlyK3,
     IsSqrtsoftplus,
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=32 inter=16 experts=8 top_k=2 "
     "router=sqrtsoftplus_bias"},
};

}  // namespace

std::span<const Row> RouterRows() { return kRows; }

}  // namespace assay::faults
