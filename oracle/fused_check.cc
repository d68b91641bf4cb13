#include "oracle/fused_check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <span>

#include "oracle/bf16_value.h"
#include "oracle/launches_check.h"
#include "oracle/numeric_check.h"
#include "oracle/same_bits.h"
#include "oracle/stage_check.h"

namespace assay {
namespace {

// Sums over the elements that both runs computed, of errors in units of Scale().
struct ErrorSums {
  std::int64_t elements = 0;
  double path = 0, path_squares = 0, fallback = 0, fallback_squares = 0, floor_squares = 0;

  double Rms(double squares) const { return std::sqrt(squares / elements); }
  // The last rounding alone leaves ulp / sqrt(12) on generic data. A fallback that comes out better
  // (exact data, lucky roundings) is no measure for anybody: it counts as that good, not better.
  double FallbackRms() const { return std::max(Rms(fallback_squares), Rms(floor_squares)); }
};

bool Measurable(std::uint16_t bits, const OutputExpected& expected, std::size_t i) {
  return std::isfinite(ValueOfBf16(bits)) && std::isfinite(expected.exact[i]) &&
         std::isfinite(HalfWidth(expected.stored[i]));
}

double RmsOf(std::span<const double> values) {
  double squares = 0;
  for (const double value : values) squares += std::isfinite(value) ? value * value : 0;
  return std::sqrt(squares / values.size());
}

// What an error of element i is measured in, so that no token and no column outweighs the others:
// its own bound, and one BF16 roundoff (2^-8) of its token's typical output, which a cancelled
// element inherits from its terms.
double Scale(const OutputExpected& expected, std::size_t i, double row_rms) {
  return std::hypot(HalfWidth(expected.stored[i]), 0x1p-8 * row_rms);
}

ErrorSums Measure(int hidden, const RunRecord& path, const OutputExpected& path_expected,
                  const RunRecord& fallback, const OutputExpected& fallback_expected) {
  ErrorSums sums;
  double row_rms = 0;
  for (std::size_t i = 0; i < path.output.size(); ++i) {
    if (i % hidden == 0) row_rms = RmsOf(std::span(path_expected.exact).subspan(i, hidden));
    if (!Measurable(path.output[i], path_expected, i) ||
        !Measurable(fallback.output[i], fallback_expected, i))
      continue;
    // One scale for both legs: a different selection must not change the unit.
    const double scale = Scale(path_expected, i, row_rms);
    const double value = ValueOfBf16(fallback.output[i]);
    const double p = (ValueOfBf16(path.output[i]) - path_expected.exact[i]) / scale;
    const double f = (value - fallback_expected.exact[i]) / scale;
    const double ulp = StepAbove(std::abs(value)) / scale;
    ++sums.elements;
    sums.path += p;
    sums.path_squares += p * p;
    sums.fallback += f;
    sums.fallback_squares += f * f;
    sums.floor_squares += ulp * ulp / 12;
  }
  return sums;
}

// Tokens with the same input give the same errors over again: they count once.
int DistinctTokens(const LayerData& layer) {
  std::set<std::vector<std::uint16_t>> inputs;
  const int hidden = layer.problem.hidden;
  for (auto row = layer.input.begin(); row != layer.input.end(); row += hidden)
    inputs.emplace(row, row + hidden);
  return static_cast<int>(inputs.size());
}

struct Comparison {
  double freedom = 0, ratio = 1, limit = 1;      // of the rms errors
  double bias = 0, fallback_bias = 0, room = 0;  // mean errors, in units of the fallback's rms
  ErrorSums sums;
};

Comparison Compare(const CaseContext& context, const ErrorSums& sums) {
  Comparison result;
  result.sums = sums;
  // Outputs of one token share the errors of its activations: one independent element in four.
  result.freedom = 0.25 * static_cast<double>(sums.elements) * DistinctTokens(context.layer) /
                   context.layer.problem.rows;
  const double fallback = sums.FallbackRms();
  result.limit = RatioLimit(result.freedom);
  // A mean of `freedom` independent errors of that rms strays by 1/sqrt(freedom): five of these.
  result.room = 5 / std::sqrt(result.freedom);
  if (fallback == 0) return result;  // every expected output is 0 in steps of 0: nothing to compare
  result.ratio = sums.Rms(sums.path_squares) / fallback;
  result.bias = sums.path / sums.elements / fallback;
  result.fallback_bias = sums.fallback / sums.elements / fallback;
  return result;
}

std::string ContractText(const RunRecord& run, const OutputExpected& expected) {
  const NumericResult result = JudgeOutput(run.output, expected);
  if (result.wrong == 0) return "met";
  return fmt::format("broken by the fallback itself: {} outside",
                     CountText(result.wrong, result.judged));
}

Finding ToFinding(const CaseContext& context, std::string_view error_class, std::string summary,
                  const Comparison& comparison, const RunRecord& path, const RunRecord& fallback,
                  const OutputExpected& fallback_expected) {
  Finding finding = NewFinding(context, "fused", error_class);
  finding.summary = std::move(summary);
  AddEvidence(finding, "rms_ratio", fmt::format("{:.4g}", comparison.ratio));
  AddEvidence(finding, "ratio_limit", fmt::format("{:.4g}", comparison.limit));
  AddEvidence(finding, "mean_error", fmt::format("{:.4g} of the fallback's rms", comparison.bias));
  AddEvidence(finding, "fallback_mean_error", fmt::format("{:.4g}", comparison.fallback_bias));
  AddEvidence(finding, "mean_error_room", fmt::format("{:.4g}", comparison.room));
  AddEvidence(finding, "independent_elements", fmt::format("{:.0f}", comparison.freedom));
  AddEvidence(finding, "elements", fmt::to_string(comparison.sums.elements));
  AddEvidence(finding, "selection",
              path.ids == fallback.ids ? "the same experts" : "the fallback chose other experts");
  AddEvidence(finding, "fallback_kernels",
              fmt::format("{}", fmt::join(FoldedKernels(fallback), " ")));
  AddEvidence(finding, "fallback_contract", ContractText(fallback, fallback_expected));
  return finding;
}

}  // namespace

// The squared ratio of two rms of `freedom` independent errors each follows F(freedom, freedom).
// ln F is symmetric with variance 2 psi'(freedom / 2), about 4 / freedom, so its quantile at 1 -
// 1e-6 (4.7534 standard deviations) is about 9.507 / sqrt(freedom); the factor 1 + 2.5 / freedom
// covers the next terms of psi' and the kurtosis, so that the chance stays below 1e-6 for few
// elements too.
double RatioLimit(double freedom) {
  return std::sqrt(std::exp(9.507 / std::sqrt(freedom) * (1 + 2.5 / freedom)));
}

FusedResult CheckFused(const CaseContext& context, const RunRecord& path,
                       const OutputExpected& path_expected, const RunRecord& fallback,
                       const OutputExpected& fallback_expected) {
  FusedResult result;
  const ErrorSums sums =
      Measure(context.layer.problem.hidden, path, path_expected, fallback, fallback_expected);
  if (sums.elements == 0) {
    result.not_judged = "no output is finite in the path, in its fallback and in the reference";
    return result;
  }
  const Comparison comparison = Compare(context, sums);
  result.ratio = comparison.ratio;
  const auto add = [&](std::string_view error_class, std::string summary) {
    result.findings.push_back(ToFinding(context, error_class, std::move(summary), comparison, path,
                                        fallback, fallback_expected));
  };
  if (comparison.ratio > comparison.limit)
    add("less_accurate", fmt::format("rms error is {:.3g} times the fallback's, limit {:.3g}",
                                     comparison.ratio, comparison.limit));
  if (std::abs(comparison.bias - comparison.fallback_bias) > comparison.room)
    add("biased", fmt::format("mean error is {:.3g} of the fallback's rms, the fallback's own is "
                              "{:.3g}, room {:.3g}",
                              comparison.bias, comparison.fallback_bias, comparison.room));
  return result;
}

std::vector<Finding> CheckFallbackBits(const CaseContext& context, const RunRecord& path,
                                       const RunRecord& fallback) {
  const auto difference = FirstDifference(context, path, fallback, Compared::kResults);
  if (!difference) return {};
  Finding finding = NewFinding(context, "fused", "bits_differ",
                               KernelOf(path, StageOfTensor(difference->tensor)));
  finding.summary = fmt::format(
      "the path promises its fallback's bits: {} at {} is {}, the fallback's is {}; {} of {}",
      difference->tensor, difference->where, difference->left, difference->right, difference->count,
      difference->total);
  difference->AddTo(finding, "path", "fallback");
  return {finding};
}

// One stated gate arithmetic: whatever path a token takes, its logits have the same bits, so no tie
// is broken in one path and kept in another.
std::vector<Finding> CheckSameLogits(const CaseContext& context, const RunRecord& path,
                                     const RunRecord& fallback) {
  const StageBits &a = path.stages, &b = fallback.stages;
  const std::size_t count = a.logits.size() + a.logits_fp32.size();
  std::int64_t first = -1, different = 0;
  const auto compare = [&](std::size_t i, bool same) {
    if (!same && different++ == 0) first = static_cast<std::int64_t>(i);
  };
  if (b.logits.size() != a.logits.size() || b.logits_fp32.size() != a.logits_fp32.size()) return {};
  for (std::size_t i = 0; i < a.logits.size(); ++i) compare(i, a.logits[i] == b.logits[i]);
  for (std::size_t i = 0; i < a.logits_fp32.size(); ++i)
    compare(i, std::bit_cast<std::uint32_t>(a.logits_fp32[i]) ==
                   std::bit_cast<std::uint32_t>(b.logits_fp32[i]));
  if (different == 0) return {};
  const int outputs = context.layer.problem.RouterOutputs();
  const std::string where = fmt::format("token {}, expert {}", first / outputs, first % outputs);
  Finding finding = NewFinding(context, "fused", "logits_differ", KernelOf(path, "router"));
  finding.summary = fmt::format("{} of {} logits have other bits than the fallback's, first {}",
                                different, count, where);
  AddEvidence(finding, "first", where);
  AddEvidence(finding, "different", CountText(different, static_cast<std::int64_t>(count)));
  return {finding};
}

}  // namespace assay
