// Packed checkpoints: the exact value of every weight.
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>

#include "reference/e2m1.h"
#include "reference/e4m3.h"
#include "reference/e8m0.h"
#include "reference/error.h"
#include "reference/golden_parts.h"
#include "reference/panels.h"
#include "reference/safetensors.h"

namespace assay {
namespace {

std::vector<std::uint8_t> Bytes(const TensorView& view) {
  return {view.bytes.begin(), view.bytes.end()};
}

void RequireSize(bool right, const std::string& what) {
  if (!right) throw UsageError(what + ": its extent does not fit the other tensors");
}

// Extent `from_last` before the last one; a tensor without it, or of no elements, packs nothing.
std::int64_t Extent(const TensorView& view, std::size_t from_last) {
  RequireSize(view.shape.size() > from_last && view.Count() > 0, "a packed tensor");
  return view.shape[view.shape.size() - 1 - from_last];
}
std::int64_t LastExtent(const TensorView& view) { return Extent(view, 0); }

double FirstOf(const Safetensors& file, const std::string& tensor) {
  const std::vector<double> values = file.Doubles(tensor);
  RequireSize(!values.empty(), tensor);
  return values.front();
}

// All rows of a packed FP4 matrix, exact, by the decoder of the layers.
std::vector<double> DecodeFp4(Format format, const TensorView& codes, const TensorView& scales,
                              int columns, float global_scale) {
  const int group = format == Format::kNvfp4 ? 16 : 32;
  PackedMatrix m{format, false, 0, columns, Bytes(codes), Bytes(scales), global_scale};
  m.rows = static_cast<int>(m.payload.size() * 2 / columns);
  RequireSize(m.rows > 0 && m.scales.size() * group == m.payload.size() * 2, "scales");
  std::vector<double> values(std::size_t(m.rows) * columns), formed(columns);
  for (int row = 0; row < m.rows; ++row) {
    double* exact = values.data() + std::size_t(row) * columns;
    DecodeRow(m, CodePolicy::kStandard, row, ExactDiffers(format) ? formed.data() : exact, exact);
  }
  return values;
}

std::vector<double> DecodeMxfp4Blocks(const Safetensors& file) {
  const TensorView& scales = file.Get("scales", "U8");
  return DecodeFp4(Format::kMxfp4, file.Get("blocks", "U8"), scales,
                   static_cast<int>(LastExtent(scales) * 32), 1);
}

std::vector<double> DecodeFp4E8m0(const Safetensors& file) {
  const TensorView& scales = file.Get("weight_scale_inv", "F8_E8M0");
  return DecodeFp4(Format::kMxfp4, file.Get("weight", "I8"), scales,
                   static_cast<int>(LastExtent(scales) * 32), 1);
}

std::vector<double> DecodeModelopt(const Safetensors& file) {
  const TensorView& scales = file.Get("weight_scale", "F8_E4M3");
  return DecodeFp4(Format::kNvfp4, file.Get("weight", "U8"), scales,
                   static_cast<int>(LastExtent(scales) * 16),
                   static_cast<float>(FirstOf(file, "weight_scale_2")));
}

// The global scale divides: not the same as a product with its rounded reciprocal.
std::vector<double> DecodeCompressedTensors(const Safetensors& file) {
  const TensorView& scales = file.Get("weight_scale", "F8_E4M3");
  std::vector<double> values = DecodeFp4(Format::kNvfp4, file.Get("weight_packed", "U8"), scales,
                                         static_cast<int>(LastExtent(scales) * 16), 1);
  const double divisor = FirstOf(file, "weight_global_scale");
  for (double& value : values) value /= divisor;
  return values;
}

std::vector<double> ScaleValues(const Safetensors& file, const std::string& tensor) {
  const TensorView& view = file.Get(tensor);
  if (view.dtype == "F32") return file.Doubles(tensor);
  std::vector<double> values;
  for (const std::uint8_t code : view.bytes)
    values.push_back(DecodeE8m0(code, CodePolicy::kStandard));
  return values;
}

// FP8 weights whose scales cover `block_rows` x `block_columns` weights, the last ones in part.
std::vector<double> DecodeFp8(const Safetensors& file, std::int64_t block_rows,
                              std::int64_t block_columns) {
  const TensorView& weight = file.Get("weight", "F8_E4M3");
  const std::vector<double> scales = ScaleValues(file, "weight_scale_inv");
  const std::int64_t columns = LastExtent(weight), rows = Extent(weight, 1);
  const std::int64_t grid_rows = (rows + block_rows - 1) / block_rows;
  const std::int64_t grid_columns = (columns + block_columns - 1) / block_columns;
  const std::int64_t matrices = weight.Count() / (rows * columns);
  RequireSize(std::int64_t(scales.size()) == matrices * grid_rows * grid_columns,
              "weight_scale_inv");
  std::vector<double> values(weight.bytes.size());
  for (std::int64_t i = 0; i < std::int64_t(values.size()); ++i) {
    const std::int64_t column = i % columns, row = i / columns % rows, matrix = i / columns / rows;
    const std::int64_t block =
        (matrix * grid_rows + row / block_rows) * grid_columns + column / block_columns;
    values[i] = kE4m3Values[weight.bytes[i]] * scales[block];
  }
  return values;
}

using Decoder = std::function<std::vector<double>(const Safetensors&)>;

const std::map<std::string, Decoder>& Decoders() {
  static const std::map<std::string, Decoder> decoders{
      {"mxfp4", DecodeMxfp4Blocks},
      {"fp4_e8m0", DecodeFp4E8m0},
      {"nvfp4_modelopt", DecodeModelopt},
      {"nvfp4_compressed_tensors", DecodeCompressedTensors},
      {"fp8_block", [](const Safetensors& file) { return DecodeFp8(file, 128, 128); }},
      {"mxfp8", [](const Safetensors& file) { return DecodeFp8(file, 1, 32); }}};
  return decoders;
}

double Differing(const std::vector<double>& got, const std::vector<double>& expected) {
  RequireSize(got.size() == expected.size(), "dequant");
  double differing = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    differing += !(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])));
  return differing;
}

GoldenResult Evaluate(const std::string& name, const std::string& kind,
                      const std::filesystem::path& path) {
  const auto decoder = Decoders().find(kind);
  if (decoder == Decoders().end()) {
    GoldenResult result;
    result.name = name;
    result.outcome = GoldenResult::kSkipped;
    result.reason = "kind " + kind + ": not built yet";
    return result;
  }
  const Safetensors file = Safetensors::Open(path);
  try {
    return ExactResult(name,
                       {{"dequant", Differing(decoder->second(file), file.Doubles("dequant"))}});
  } catch (const UsageError& error) {
    const std::string what = error.what();
    throw UsageError(what.starts_with(path.string()) ? what : path.string() + ": " + what);
  }
}

}  // namespace

std::vector<GoldenResult> PackedGoldens(const Json& packed, const std::filesystem::path& dir) {
  std::vector<GoldenResult> results;
  for (const Json& entry : packed.at("cases")) {
    const std::filesystem::path file = dir / entry.at("file").get<std::string>();
    if (!std::filesystem::exists(file)) continue;
    results.push_back(
        Evaluate("packed/" + entry.at("name").get<std::string>(), entry.at("kind"), file));
  }
  return results;
}

}  // namespace assay
