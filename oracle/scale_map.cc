#include "oracle/scale_map.h"

#include <fmt/format.h>

#include <charconv>

#include "reference/formats.h"

namespace assay {
namespace {

std::optional<Projection> FindProjection(std::string_view name) {
  for (const auto projection : {Projection::kGate, Projection::kUp, Projection::kDown})
    if (name.find(ProjectionName(projection)) != name.npos) return projection;
  return std::nullopt;
}

// The number in brackets; "[shared]" and the word shared are the shared expert.
std::optional<int> FindExpert(std::string_view name) {
  if (name.find("shared") != name.npos) return kSharedExpert;
  const auto open = name.find('[');
  if (open == name.npos) return std::nullopt;
  int expert = 0;
  const auto end = name.data() + name.size();
  return std::from_chars(name.data() + open + 1, end, expert).ec == std::errc{}
             ? std::optional(expert)
             : std::nullopt;
}

Format FormatOf(const Problem& problem, bool shared) {
  return shared && problem.shared ? *problem.shared : problem.format;
}

}  // namespace

std::optional<WeightTensor> ParseWeightTensor(std::string_view name) {
  const auto dot = name.rfind('.');
  if (dot == name.npos) return std::nullopt;
  const std::string_view table = name.substr(0, dot), part = name.substr(dot + 1);
  const auto projection = FindProjection(table);
  const auto expert = FindExpert(table);
  const bool scales = part.starts_with("scale"), payload = part.starts_with("payload");
  if (!projection || !expert || !(scales || payload)) return std::nullopt;
  const std::string_view stem = table.substr(0, table.find('['));
  return WeightTensor{*projection, *expert, scales, stem.ends_with("_t")};
}

std::string_view ProjectionName(Projection projection) {
  if (projection == Projection::kGate) return "gate";
  return projection == Projection::kUp ? "up" : "down";
}

std::string ExpertName(int expert) {
  return expert == kSharedExpert ? "shared expert" : fmt::format("expert {}", expert);
}

int ScaleShape::RowOf(std::int64_t scale) const {
  return band * static_cast<int>(placement.row_stride == 1 ? scale % Bands() : scale / groups);
}

int ScaleShape::GroupOf(std::int64_t scale) const {
  return static_cast<int>(placement.row_stride == 1 ? scale / Bands() : scale % groups);
}

std::optional<ScaleShape> ShapeOfScales(const WeightTensor& tensor, const Problem& problem) {
  const bool shared = tensor.expert == kSharedExpert;
  const Format format = FormatOf(problem, shared);
  const int inter = shared ? problem.SharedInter() : problem.inter;
  const bool down = tensor.projection == Projection::kDown;
  const int rows = down ? problem.hidden : inter, columns = down ? inter : problem.hidden;
  const ScaleGrid grid = ScaleGridOf(format, rows, columns);
  if (grid.bytes == 0 || GroupSize(format) == 0) return std::nullopt;
  ScaleShape shape{rows, grid.columns, GroupSize(format),
                   PlaceUnits(tensor.transposed, grid.rows, columns, GroupShift(format))};
  shape.width = grid.bytes;
  if (format != Format::kFp8Block) return shape;
  shape.band = shape.group;
  shape.placement.row_shift = shape.placement.column_shift;
  return shape;
}

std::string ScaleText(const WeightTensor& tensor, const ScaleShape& shape, std::int64_t scale) {
  const int group = shape.GroupOf(scale), first = group * shape.group, row = shape.RowOf(scale);
  const std::string rows = shape.band == 1 ? fmt::format("row {}", row)
                                           : fmt::format("rows {}..{}", row, row + shape.band - 1);
  return fmt::format("{} {} {} group {} (columns {}..{})", ExpertName(tensor.expert),
                     ProjectionName(tensor.projection), rows, group, first,
                     first + shape.group - 1);
}

}  // namespace assay
