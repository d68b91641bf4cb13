#include "fuzz/faults/fault.h"

#include <algorithm>

#include "fuzz/faults/make_runner.h"
#include "fuzz/faults/row.h"

namespace assay {
namespace {

using P = const Problem&;

bool IsTransposed(P p) { return p.layout == Layout::kTransposed; }
bool IsNvfp4(P p) { return p.format == Format::kNvfp4; }
bool IsMxfp4(P p) { return p.format == Format::kMxfp4; }
bool IsFp8Block(P p) { return p.format == Format::kFp8Block; }
bool IsGated(P p) { return p.shared && p.shared_gate == SharedGate::kSigmoid; }
bool Always(P) { return true; }

using faults::Row;

const std::vector<PathId> kAll = {PathId::kSingle, PathId::kK3, PathId::kBatched};
const std::vector<PathId> kPerToken = {PathId::kSingle, PathId::kBatched};
const std::vector<PathId> kOnlyK3 = {PathId::kK3};
const std::vector<PathId> kOnlySingle = {PathId::kSingle};
const std::vector<PathId> kFp8Paths = {PathId::kSingle, PathId::kK2, PathId::kK3, PathId::kBatched,
                                       PathId::kFp8Grouped};
const std::vector<PathId> kOnlyC4 = {PathId::kAtomicC4};

const std::vector<Row> kRows = {
    {"act_buffer_of_1024", "fixed-size shared buffer", "memory",
     "silu_down holds its activations in 1,024 floats, whatever the experts' width", kOnlySingle,
     [](P p) { return IsFp8Block(p) && p.inter > 1024; },
     "path=single format=fp8_block layout=row_major rows=1 hidden=8 inter=1032 experts=1 top_k=1"},
    {"barrier_after_early_return", "barrier after early return", "memory",
     "threads without an output return before the barrier that fills shared memory", kOnlyK3,
     [](P p) { return IsNvfp4(p) && IsTransposed(p) && p.hidden % 32 != 0; },
     "path=k3 format=nvfp4 layout=transposed rows=3 hidden=48 inter=16 experts=2 top_k=1"},
    {"bf16_truncated", "truncation for rounding", "numeric",
     "the output is truncated to BF16 instead of rounded", kAll, Always,
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=64 inter=32 experts=4 top_k=2"},
    {"blend_one_row_too_many", "output rows or columns not written or written twice", "memory",
     "the blend is launched for one token more than the step has", kOnlyK3,
     [](P p) { return IsNvfp4(p) && !p.shared; },
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=16 inter=16 experts=2 top_k=1"},
    {"c4_clear_not_captured", "stale scratch", "graph",
     "a captured step of atomic C4 lacks the launch that clears its accumulator", kOnlyC4,
     [](P p) { return IsNvfp4(p) && p.graph; },
     "path=atomic_c4 format=nvfp4 layout=row_major rows=4 hidden=32 inter=16 experts=4 top_k=2 "
     "shared=nvfp4 graph=on"},
    {"c4_clears_once", "first run clean, second not", "repeat",
     "atomic C4 clears its accumulator in the first run only", kOnlyC4, IsNvfp4,
     "path=atomic_c4 format=nvfp4 layout=row_major rows=4 hidden=32 inter=16 experts=4 top_k=3 "
     "shared=nvfp4"},
    {"c4_e8m0_unguarded", "scale group size mixed up", "memory",
     "atomic C4 of a hybrid layer: its row-major group-16 kernels walk group-32 tables", kOnlyC4,
     IsMxfp4,
     "path=atomic_c4 format=mxfp4 layout=hybrid rows=4 hidden=64 inter=32 experts=2 top_k=1"},
    {"c4_ep_null_gate", "null shared gate unchecked", "memory",
     "after the all-reduce atomic C4 computes the shared gate of a layer that has none", kOnlyC4,
     [](P p) { return IsNvfp4(p) && p.ep > 1 && p.shared && p.shared_gate == SharedGate::kNone; },
     "path=atomic_c4 format=nvfp4 layout=row_major rows=4 hidden=32 inter=16 experts=4 top_k=2 "
     "shared=nvfp4 shared_gate=none ep=2"},
    {"c4_update_lost", "race", "repeat",
     "every second run loses the third slot's addition to the accumulator", kOnlyC4,
     [](P p) { return IsNvfp4(p) && p.top_k > 2; },
     "path=atomic_c4 format=nvfp4 layout=row_major rows=4 hidden=32 inter=16 experts=4 top_k=3 "
     "shared=nvfp4"},
    {"clamp_in_one_silu_down", "undeclared clamp", "numeric",
     "one silu_down kernel clamps gate and up at +-10", kOnlySingle,
     [](P p) { return IsFp8Block(p) && p.data == DataDraw::kInteger; },
     "path=single format=fp8_block layout=row_major rows=1 hidden=64 inter=32 experts=2 top_k=1 "
     "data=integer"},
    {"down_of_next_expert", "in-bounds read of another expert", "ownership",
     "the down projection reads the table entry after the chosen expert's", kAll,
     [](P p) { return p.experts >= 4; },
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=32 inter=16 experts=16 top_k=1"},
    {"e4m3_subnormals_flushed", "code-word decode", "numeric",
     "subnormal E4M3 scales decode to zero", kAll,
     [](P p) { return IsNvfp4(p) && p.data == DataDraw::kExtreme; },
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=2 top_k=1 "
     "data=extreme"},
    {"e8m0_decoded_as_e4m3", "code-word decode", "numeric",
     "E8M0 scale bytes, read with the right group, are decoded as E4M3", kPerToken, IsMxfp4,
     "path=batched format=mxfp4 layout=transposed rows=1 hidden=32 inter=32 experts=2 top_k=1"},
    {"ep_gate_forgotten", "expert parallel: shared expert", "launches",
     "after the all-reduce the shared expert is a plain residual, whatever its gate says", kAll,
     [](P p) { return p.ep > 1 && IsGated(p); },
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=32 inter=16 experts=2 top_k=1 "
     "shared=nvfp4 ep=2"},
    {"ep_shared_counted_per_rank", "expert parallel: shared expert", "numeric",
     "every rank blends the replicated shared expert in before the all-reduce", kAll,
     [](P p) { return p.ep > 1 && p.shared; },
     "path=batched format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=2 top_k=1 "
     "shared=nvfp4 ep=2"},
    {"ep_shared_on_rank_zero", "expert parallel: ranks disagree", "ranks",
     "rank 0 alone adds the shared expert", kAll, [](P p) { return p.ep > 1 && p.shared; },
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=32 inter=16 experts=2 top_k=1 "
     "shared=nvfp4 ep=2"},
    {"ep_stale_shared", "expert parallel: shared expert", "memory",
     "a layer without a shared expert adds what lies in the shared scratch", kAll,
     [](P p) { return p.ep > 1 && !p.shared; },
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=32 inter=16 experts=2 top_k=1 ep=2"},
    {"foreign_scale_discarded", "in-bounds read of another row, value discarded", "ownership",
     "each output also reads its neighbour's scale and throws it away", kOnlyK3,
     [](P p) { return IsNvfp4(p) && IsTransposed(p); },
     "path=k3 format=nvfp4 layout=transposed rows=3 hidden=32 inter=16 experts=2 top_k=1"},
    {"fp8_nan_codes_kept", "code-word decode", "numeric",
     "the NaN codes of an E4M3 payload stay NaN, where production reads 0", kFp8Paths,
     [](P p) {
       return IsFp8Block(p) && p.data == DataDraw::kExtreme && p.codes == CodePolicy::kProduction;
     },
     "path=single format=fp8_block layout=row_major rows=1 hidden=64 inter=32 experts=2 top_k=1 "
     "data=extreme"},
    {"fp8_null_gate_blend", "null shared gate unchecked", "memory",
     "the blend of FP8 K=3 computes the shared gate of a layer that has none", kOnlyK3,
     [](P p) { return IsFp8Block(p) && p.shared && p.shared_gate == SharedGate::kNone; },
     "path=k3 format=fp8_block layout=row_major rows=3 hidden=16 inter=16 experts=2 top_k=1 "
     "shared=fp8_block shared_gate=none"},
    {"fp8_scales_of_64", "scale group size mixed up", "ownership",
     "blocks of 64 rows and columns are taken for those of 128", kFp8Paths,
     [](P p) { return IsFp8Block(p) && p.hidden > 128 && p.inter > 128; },
     "path=single format=fp8_block layout=row_major rows=1 hidden=144 inter=136 experts=1 top_k=1"},
    {"gemm_tail_dropped",
     "tail columns dropped",
     "numeric",
     "the grouped GEMMs of prefill leave out the columns after the last whole tile of 16",
     {PathId::kPrefill},
     [](P p) { return p.hidden % 16 != 0; },
     "path=prefill format=bf16 layout=row_major rows=65 hidden=24 inter=16 experts=2 top_k=1"},
    {"grouped_lane_order",
     "a promise of equal bits broken",
     "fused",
     "the grouped FP8 path sums one expert's rows in another order than the loop over tokens",
     {PathId::kFp8Grouped},
     IsFp8Block,
     "path=fp8_grouped format=fp8_block layout=row_major rows=32 hidden=512 inter=128 experts=1 "
     "top_k=1"},
    {"k3_bf16_reads_freed_fp8", "use after free", "memory",
     "K=3 without its BF16 guard reads the FP8 originals that were freed at load", kOnlyK3,
     [](P p) { return p.format == Format::kBf16 && !p.shared; },
     "path=k3 format=bf16 layout=row_major rows=3 hidden=16 inter=16 experts=2 top_k=1"},
    {"k3_e8m0_unguarded", "scale group size mixed up", "memory",
     "K=3 verify without its E8M0 guard: the group-16 batch3_t kernel walks group-32 tables",
     kOnlyK3, IsMxfp4,
     "path=k3 format=mxfp4 layout=transposed rows=3 hidden=64 inter=32 experts=2 top_k=1"},
    {"k_tail_dropped", "tail columns dropped", "numeric",
     "columns after the last whole step of 16 are left out", kOnlySingle,
     [](P p) { return IsFp8Block(p) && p.hidden % 16 != 0; },
     "path=single format=fp8_block layout=row_major rows=1 hidden=72 inter=32 experts=2 top_k=1"},
    {"nibbles_swapped", "code-word decode", "numeric",
     "the high nibble is taken for the even column", kAll, IsNvfp4,
     "path=single format=nvfp4 layout=transposed rows=1 hidden=32 inter=16 experts=2 top_k=1"},
    {"null_shared_unchecked", "null shared expert unchecked", "memory",
     "the fused kernels of a mixed layer run the shared expert from null pointers", kOnlyK3,
     [](P p) { return IsNvfp4(p) && IsTransposed(p) && p.shared == Format::kBf16; },
     "path=k3 format=nvfp4 layout=transposed rows=3 hidden=16 inter=16 experts=2 top_k=1 "
     "shared=bf16"},
    {"ragged_rows_skip_barrier", "barrier after early return", "memory",
     "warps without an output return before the barrier when the rows are no multiple of 8",
     kOnlySingle, [](P p) { return IsFp8Block(p) && p.hidden % 8 != 0 && p.hidden % 8 <= 6; },
     "path=single format=fp8_block layout=row_major rows=1 hidden=20 inter=16 experts=1 top_k=1"},
    {"scale2_missing", "global scale missing", "numeric",
     "the FP32 scale of the matrix is left out", kAll, IsNvfp4,
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=2 top_k=1"},
    {"scale_truncated_to_bf16", "undeclared rounding", "fused",
     "the fused path truncates each group scale to BF16, the fallback does not", kOnlyK3, IsNvfp4,
     "path=k3 format=nvfp4 layout=transposed rows=3 hidden=256 inter=64 experts=4 top_k=2"},
    {"scratch_not_cleared", "stale scratch", "poison",
     "down is added to scratch that nobody cleared", kOnlyK3,
     [](P p) { return IsNvfp4(p) && IsTransposed(p); },
     "path=k3 format=nvfp4 layout=transposed rows=3 hidden=32 inter=16 experts=2 top_k=1"},
    {"second_run_differs", "first run clean, second not", "repeat",
     "every second run drops the last slot", kOnlyK3, IsNvfp4,
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=32 inter=16 experts=2 top_k=2"},
    {"shared_gate_ignored", "shared expert scaled wrongly", "numeric",
     "the shared expert is added with factor 1 instead of its sigmoid gate", kAll, IsGated,
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=2 top_k=1 "
     "shared=nvfp4"},
    {"silent_fallback", "another kernel ran than declared", "launches",
     "K=3 quietly runs the batched path's kernels", kOnlyK3, IsNvfp4,
     "path=k3 format=nvfp4 layout=row_major rows=3 hidden=32 inter=16 experts=2 top_k=1"},
    {"slot_dropped", "output rows or slots dropped", "numeric",
     "the blend leaves out the last slot", kAll, Always,
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=4 top_k=2"},
    {"t_branch_without_blend", "output rows or columns not written", "unwritten",
     "the transposed K=3 branch returns before the blend", kOnlyK3,
     [](P p) { return IsNvfp4(p) && IsTransposed(p); },
     "path=k3 format=nvfp4 layout=transposed rows=3 hidden=16 inter=16 experts=2 top_k=1"},
    {"tie_breaks_by_lane", "ties", "routing",
     "equal scores go to the later lane, not the lower index", kAll,
     [](P p) { return p.logits == LogitDraw::kTies; },
     "path=single format=nvfp4 layout=row_major rows=1 hidden=32 inter=16 experts=8 top_k=1 "
     "logits=ties"},
    {"wrong_scale_group_tail", "tail group uses the previous one", "ownership",
     "the last scale group of a row reads its neighbour's scale", kAll,
     [](P p) { return IsNvfp4(p) && (p.hidden > 16 || p.inter > 16); },
     "path=k3 format=nvfp4 layout=transposed rows=3 hidden=32 inter=16 experts=2 top_k=1"},
};

const std::vector<Row>& AllRows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all = kRows;
    all.insert(all.end(), faults::RouterRows().begin(), faults::RouterRows().end());
    std::sort(all.begin(), all.end(), [](const Row& a, const Row& b) {
      return std::string_view(a.name) < std::string_view(b.name);
    });
    return all;
  }();
  return rows;
}

std::vector<Fault> Build() {
  std::vector<Fault> faults;
  for (const Row& row : AllRows())
    faults.push_back(
        {row.name, row.error_class, row.check, row.what, row.paths, ParseCase(row.smallest)});
  return faults;
}

}  // namespace

const std::vector<Fault>& Faults() {
  static const std::vector<Fault> faults = Build();
  return faults;
}

const Fault* FindFault(std::string_view name) {
  const auto& all = Faults();
  const auto at =
      std::find_if(all.begin(), all.end(), [&](const Fault& f) { return f.name == name; });
  return at == all.end() ? nullptr : &*at;
}

bool Applies(const Fault& fault, PathId path, const Problem& problem) {
  const bool on_path = std::find(fault.paths.begin(), fault.paths.end(), path) != fault.paths.end();
  const auto row = std::find_if(AllRows().begin(), AllRows().end(),
                                [&](const Row& r) { return r.name == fault.name; });
  return on_path && row != AllRows().end() && row->applies(problem);
}

std::unique_ptr<Runner> MakeFaultRunner(const Fault& fault, PathId path, Device device,
                                        int threads) {
  const bool host = device == Device::kHost;
  auto runner = host ? faults::MakeHostRouterFaultRunner(fault.name, path, threads)
                     : faults::MakeCudaRouterFaultRunner(fault.name, path);
  if (runner != nullptr) return runner;
  return host ? faults::MakeHostFaultRunner(fault.name, path, threads)
              : faults::MakeCudaFaultRunner(fault.name, path);
}

}  // namespace assay
