#include "reference/layer_data.h"

#include <set>

#include "reference/draw_tensors.h"
#include "reference/error.h"
#include "reference/expert_rule.h"
#include "reference/formats.h"
#include "reference/router_expected.h"

namespace assay {
namespace {

// units[r][c] of `rows` x `columns` units of `width` bytes -> units[c][r].
std::vector<std::uint8_t> TransposeUnits(const std::vector<std::uint8_t>& in, int rows, int columns,
                                         int width) {
  std::vector<std::uint8_t> out(in.size());
  for (std::size_t r = 0; r < std::size_t(rows); ++r)
    for (std::size_t c = 0; c < std::size_t(columns); ++c)
      for (int b = 0; b < width; ++b)
        out[(c * rows + r) * width + b] = in[(r * columns + c) * width + b];
  return out;
}

ExpertWeights BuildExpert(const Problem& problem, int expert) {
  ExpertWeights weights;
  if (IsGated(problem)) weights.gate = BuildMatrix(problem, Projection::kGate, expert);
  weights.up = BuildMatrix(problem, Projection::kUp, expert);
  weights.down = BuildMatrix(problem, Projection::kDown, expert);
  return weights;
}

void DrawBiases(const Problem& problem, int expert, ExpertWeights& weights) {
  if (!problem.expert_bias) return;
  if (IsGated(problem)) weights.gate_bias = DrawExpertBias(problem, Projection::kGate, expert);
  weights.up_bias = DrawExpertBias(problem, Projection::kUp, expert);
  weights.down_bias = DrawExpertBias(problem, Projection::kDown, expert);
}

std::vector<int> ExpertsToBuild(const LayerData& layer) {
  std::set<int> ids;
  for (const std::vector<int>& row : ExpectRouter(layer).may)
    for (const int id : row)
      if (id < layer.problem.experts) ids.insert(id);
  return {ids.begin(), ids.end()};
}

// One matrix is one task. The first failure is thrown again after the parallel region.
void BuildExperts(LayerData& layer) {
  const std::vector<int> ids = ExpertsToBuild(layer);
  for (const int id : ids) DrawBiases(layer.problem, id, layer.experts[id]);
  const std::int64_t weights =
      std::int64_t{3} * layer.problem.hidden * layer.problem.inter * std::int64_t(ids.size());
  constexpr std::int64_t kFewWeights = 1 << 22;  // below, waking threads costs more than it saves
#pragma omp parallel for schedule(dynamic) if (weights > kFewWeights)
  for (std::size_t task = 0; task < 3 * ids.size(); ++task) {
    ExpertWeights& expert = layer.experts.find(ids[task / 3])->second;
    const auto projection = static_cast<Projection>(task % 3);
    if (projection == Projection::kGate && !IsGated(layer.problem)) continue;
    (projection == Projection::kGate ? expert.gate
     : projection == Projection::kUp ? expert.up
                                     : expert.down) =
        BuildMatrix(layer.problem, projection, ids[task / 3]);
  }
}

// Exceptions may not leave a parallel region, so what cannot be built is refused before it.
void RequireBuildable(const Problem& problem) {
  if (const auto rule = Impossible(problem)) throw UsageError(*rule);
  RequireSupported(problem);
  RequireFormats(problem);
}

}  // namespace

PackedMatrix Transpose(const PackedMatrix& matrix) {
  if (IsInt4(matrix.format)) throw UsageError("transpose: INT4 has one packing");
  PackedMatrix out = matrix;
  out.transposed = !matrix.transposed;
  const int units = IsFp4(matrix.format) ? matrix.columns / 2 : matrix.columns;
  const ScaleGrid grid = ScaleGridOf(matrix.format, matrix.rows, matrix.columns);
  const auto turn = [&](const std::vector<std::uint8_t>& bytes, int rows, int columns, int width) {
    return matrix.transposed ? TransposeUnits(bytes, columns, rows, width)
                             : TransposeUnits(bytes, rows, columns, width);
  };
  out.payload = turn(matrix.payload, matrix.rows, units, matrix.format == Format::kBf16 ? 2 : 1);
  if (grid.bytes > 0) out.scales = turn(matrix.scales, grid.rows, grid.columns, grid.bytes);
  return out;
}

LayerData BuildLayer(const Problem& problem) {
  RequireBuildable(problem);
  LayerData layer;
  layer.problem = problem;
  layer.input = DrawInput(problem);
  DrawRouter(problem, layer);
  layer.shared_gate = DrawSharedGate(problem);
  layer.lora = DrawLora(problem);
  BuildExperts(layer);
  if (problem.shared) layer.shared = BuildExpert(problem, -1);
  return layer;
}

}  // namespace assay
