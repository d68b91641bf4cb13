// Which logical weight a byte of a weight tensor belongs to. From the layer's placement alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "reference/layer_data.h"

namespace assay {

inline constexpr int kSharedExpert = -1;

// A weight tensor by its name in a run record: "gate[5].scale" (row-major), "gate_t[5].scale"
// (transposed), "down_t[3].payload", "shared_up.scale".
struct WeightTensor {
  Projection projection = Projection::kGate;
  int expert = 0;
  bool scales = false;  // else the payload
  bool transposed = false;

  bool operator==(const WeightTensor&) const = default;
};
std::optional<WeightTensor> ParseWeightTensor(std::string_view name);

std::string_view ProjectionName(Projection projection);  // "gate"
std::string ExpertName(int expert);                      // "expert 5", "shared expert"

// The scales of one matrix as the landed path reads them; `scale` counts them from the tensor's
// start.
struct ScaleShape {
  int rows = 0, groups = 0, group = 0;  // `group`: columns of one group
  Placement placement;
  int band = 1, width = 1;  // rows that share a scale; bytes of one scale

  int Bands() const { return (rows + band - 1) / band; }
  std::int64_t Scales() const { return std::int64_t{Bands()} * groups; }
  std::int64_t Bytes() const { return Scales() * width; }
  int RowOf(std::int64_t scale) const;  // the first row
  int GroupOf(std::int64_t scale) const;
};

// nullopt: the tensor's format has no scales.
std::optional<ScaleShape> ShapeOfScales(const WeightTensor& tensor, const Problem& problem);

// "expert 5 gate row 17 group 3 (columns 96..127)", "... rows 128..255 group 3 (columns ...)".
std::string ScaleText(const WeightTensor& tensor, const ScaleShape& shape, std::int64_t scale);

}  // namespace assay
