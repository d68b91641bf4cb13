#include "reference/layer_data.h"

#include <set>

#include "reference/draw_tensors.h"
#include "reference/error.h"
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
  return {BuildMatrix(problem, Projection::kGate, expert),
          BuildMatrix(problem, Projection::kUp, expert),
          BuildMatrix(problem, Projection::kDown, expert)};
}

std::vector<int> ExpertsToBuild(const LayerData& layer) {
  std::set<int> ids;
  for (const std::vector<int>& row : ExpectRouter(layer).may) ids.insert(row.begin(), row.end());
  return {ids.begin(), ids.end()};
}

// One matrix is one task. The first failure is thrown again after the parallel region.
void BuildExperts(LayerData& layer) {
  const std::vector<int> ids = ExpertsToBuild(layer);
  for (const int id : ids) layer.experts[id];
  const std::int64_t weights =
      std::int64_t{3} * layer.problem.hidden * layer.problem.inter * std::int64_t(ids.size());
  constexpr std::int64_t kFewWeights = 1 << 22;  // below, waking threads costs more than it saves
#pragma omp parallel for schedule(dynamic) if (weights > kFewWeights)
  for (std::size_t task = 0; task < 3 * ids.size(); ++task) {
    ExpertWeights& expert = layer.experts.find(ids[task / 3])->second;
    const auto projection = static_cast<Projection>(task % 3);
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
  PackedMatrix out = matrix;
  out.transposed = !matrix.transposed;
  const bool fp4 = IsFp4(matrix.format);
  const int units = fp4 ? matrix.columns / 2 : matrix.columns;
  const int groups = GroupSize(matrix.format) > 0 ? matrix.columns / GroupSize(matrix.format) : 0;
  const auto turn = [&](const std::vector<std::uint8_t>& bytes, int columns, int width) {
    return matrix.transposed ? TransposeUnits(bytes, columns, matrix.rows, width)
                             : TransposeUnits(bytes, matrix.rows, columns, width);
  };
  out.payload = turn(matrix.payload, units, fp4 ? 1 : 2);
  if (groups > 0) out.scales = turn(matrix.scales, groups, 1);
  return out;
}

LayerData BuildLayer(const Problem& problem) {
  RequireBuildable(problem);
  LayerData layer;
  layer.problem = problem;
  layer.input = DrawInput(problem);
  layer.router_weight = DrawRouterWeight(problem);
  layer.router_bias = DrawRouterBias(problem);
  layer.shared_gate = DrawSharedGate(problem);
  BuildExperts(layer);
  if (problem.shared) layer.shared = BuildExpert(problem, -1);
  return layer;
}

}  // namespace assay
