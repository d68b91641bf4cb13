#include "reference/checkpoint.h"

#include <algorithm>
#include <array>
#include <set>

#include "reference/bf16.h"
#include "reference/error.h"

namespace assay {
namespace {

constexpr int kMaxExperts = 65536;

// Names of an expert's matrices in models; up alone means: not gated.
struct ProjectionNames {
  const char *gate, *up, *down;
};
constexpr std::array<ProjectionNames, 3> kOneExpert{{{"gate_proj", "up_proj", "down_proj"},
                                                     {"w1", "w3", "w2"},
                                                     {"linear", "linear_v", "linear_1"}}};
constexpr std::array<ProjectionNames, 3> kStack{{{"gate_up_proj", "gate_up_proj", "down_proj"},
                                                 {"gate_proj", "up_proj", "down_proj"},
                                                 {"mlp.w1", "mlp.v1", "mlp.w2"}}};

// "model.layers.3.mlp.experts." of a tensor's name, "" if it is no routed expert's.
std::string PrefixOf(const std::string& tensor) {
  constexpr std::string_view kSegment = "experts.";
  for (std::size_t at = tensor.find(kSegment); at != std::string::npos;
       at = tensor.find(kSegment, at + 1))
    if (at == 0 || tensor[at - 1] == '.') return tensor.substr(0, at + kSegment.size());
  return "";
}

int ConfigCount(const CheckpointFiles& files, std::initializer_list<const char*> fields) {
  for (const char* field : fields) {
    const Json value = files.Config(field);
    if (value.is_null()) continue;
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 ||
        value.get<std::uint64_t>() > 1u << 20)
      throw UsageError(files.Where() + ": config.json: " + field + "=" + ShortJson(value) +
                       " is no size");
    return value;
  }
  return 0;  // unknown
}

int ConfigExperts(const CheckpointFiles& files) {
  return ConfigCount(files,
                     {"num_local_experts", "n_routed_experts", "num_experts", "moe_num_experts"});
}

// Numbers of the experts that have tensors of their own: "experts.7.".
std::set<int> NumberedExperts(const CheckpointFiles& files, const std::string& prefix) {
  std::set<int> numbers;
  for (const std::string& name : files.Names()) {
    if (!name.starts_with(prefix)) continue;
    const std::string rest = name.substr(prefix.size());
    const std::size_t digits = rest.find_first_not_of("0123456789");
    if (digits == 0 || digits == std::string::npos || digits > 5 || rest[digits] != '.') continue;
    numbers.insert(std::stoi(rest.substr(0, digits)));
  }
  return numbers;
}

// Whether some tensor holds codes of the matrix.
bool HasMatrix(const CheckpointFiles& files, const std::string& matrix) {
  for (const char* suffix : {".weight", ".weight_packed", "_blocks", "_packed", ""})
    if (files.Has(matrix + suffix)) return true;
  return false;
}

const ProjectionNames* FindNames(const CheckpointFiles& files, const std::string& base,
                                 std::span<const ProjectionNames> all) {
  for (const ProjectionNames& names : all)
    if (HasMatrix(files, base + names.up)) return &names;
  return nullptr;
}

// A row of payload or scales, for packings whose rows are whole bytes.
std::vector<std::uint8_t> PickRows(const std::vector<std::uint8_t>& bytes, std::size_t row_bytes,
                                   int first, int step, int count) {
  std::vector<std::uint8_t> picked;
  picked.reserve(row_bytes * std::size_t(count));
  for (int i = 0; i < count; ++i) {
    const auto row = bytes.begin() + std::ptrdiff_t(row_bytes) * (first + i * step);
    picked.insert(picked.end(), row, row + std::ptrdiff_t(row_bytes));
  }
  return picked;
}

// Inputs first: the outputs of each input are picked. Plain codes of two bytes.
std::vector<std::uint8_t> PickColumns(const Container& m, int first, int step, int count) {
  std::vector<std::uint8_t> picked;
  for (int column = 0; column < m.columns; ++column) {
    const auto at = m.payload.begin() + std::ptrdiff_t{2} * m.rows * column;
    for (int i = 0; i < count; ++i) {
      picked.push_back(at[2 * (first + i * step)]);
      picked.push_back(at[2 * (first + i * step) + 1]);
    }
  }
  return picked;
}

}  // namespace

StoredMatrix CheckpointLayer::Stored(int expert, Projection projection) const {
  const bool down = projection == Projection::kDown;
  const std::string& name = down ? down_ : projection == Projection::kGate ? gate_ : up_;
  return {prefix_ + (stacked_ ? "" : std::to_string(expert) + ".") + name, stacked_,
          down ? down_input_first_ : input_first_, flat_};
}

CheckpointLayer::Rows CheckpointLayer::RowsOf(Projection projection) const {
  if (projection == Projection::kDown) return {0, 1, hidden};
  if (!fused_) return {0, 1, inter};
  const bool up = projection == Projection::kUp;
  return interleaved_ ? Rows{up ? 1 : 0, 2, inter} : Rows{up ? inter : 0, 1, inter};
}

void CheckpointLayer::RequireExpert(int expert, Projection projection) const {
  if (expert < 0 || expert >= experts)
    throw UsageError("expert " + std::to_string(expert) + ": " + prefix_ + " has " +
                     std::to_string(experts));
  if (projection == Projection::kGate && !gated)
    throw UsageError(prefix_ + ": the experts are not gated, there is no gate");
}

Container CheckpointLayer::Packed(int expert, Projection projection) const {
  RequireExpert(expert, projection);
  Container m = ReadContainer(*files_, coding, Stored(expert, projection), expert);
  const Rows rows = RowsOf(projection);
  if (rows.count == m.rows) return m;
  const int block = m.scheme.block_rows;
  const bool scaled = m.scheme.scale != ScaleCode::kNone;
  if (scaled && block > 1 && (rows.step > 1 || rows.first % block != 0 || rows.count % block != 0))
    throw UnsupportedProblem(prefix_ + ": gate and up share scales of " + std::to_string(block) +
                             " rows, they have no packed bytes of their own");
  if (m.transposed) {
    m.payload = PickColumns(m, rows.first, rows.step, rows.count);
  } else {
    m.payload = PickRows(m.payload, m.payload.size() / m.rows, rows.first, rows.step, rows.count);
    if (scaled)
      m.scales = PickRows(m.scales, m.scales.size() / m.ScaleRows(), rows.first / block, rows.step,
                          rows.count / block);
  }
  m.rows = rows.count;
  return m;
}

std::vector<double> CheckpointLayer::Weights(int expert, Projection projection) const {
  RequireExpert(expert, projection);
  const Container m = ReadContainer(*files_, coding, Stored(expert, projection), expert);
  const Rows rows = RowsOf(projection);
  std::vector<double> weights;
  weights.reserve(std::size_t(rows.count) * m.columns);
  for (int i = 0; i < rows.count; ++i)
    for (int column = 0; column < m.columns; ++column)
      weights.push_back(ExactWeight(m, rows.first + i * rows.step, column, CodePolicy::kStandard));
  return weights;
}

std::vector<double> CheckpointLayer::Bias(int expert, Projection projection) const {
  RequireExpert(expert, projection);
  const std::string name = Stored(expert, projection).name + (stacked_ ? "_bias" : ".bias");
  if (!files_->Has(name)) return {};
  const TensorView& view = files_->Get(name);
  const Rows rows = RowsOf(projection);
  const int stored = fused_ && projection != Projection::kDown ? 2 * inter : rows.count;
  if (view.dtype != "BF16" || view.Count() != std::int64_t{stored} * (stacked_ ? experts : 1))
    throw UsageError("tensor \"" + name + "\": needs " + std::to_string(stored) +
                     " values of type BF16 for each expert");
  const std::uint8_t* at = view.bytes.data() + (stacked_ ? std::size_t(expert) * stored * 2 : 0);
  std::vector<double> bias;
  for (int i = 0; i < rows.count; ++i) {
    const std::uint8_t* value = at + 2 * (rows.first + i * rows.step);
    bias.push_back(Bf16ToFloat(static_cast<std::uint16_t>(value[0] | value[1] << 8)));
  }
  return bias;
}

// Which way the stacks lie. Gate and up in one: the shapes say it, since only one of out = 2 inter
// and in = 2 inter fits down. Otherwise the config's width does; without it [outputs, inputs].
void CheckpointLayer::FindStackLayout() {
  const Json model = files_->Config("model_type");
  interleaved_ =
      fused_ && (model.is_null() ? files_->Has(prefix_ + up_ + "_bias") : model == "gpt_oss");
  if (up_ == "mlp.v1") {  // DBRX: [E * inter, hidden] all three
    flat_ = experts;
    down_input_first_ = true;
    if (experts == 0)
      throw UsageError(files_->Where() + ": config.json must say the number of experts");
    return;
  }
  const auto up = WeightShape(*files_, coding, Stored(0, Projection::kUp));
  const auto down = WeightShape(*files_, coding, Stored(0, Projection::kDown));
  const int width = ConfigCount(*files_, {"moe_intermediate_size", "intermediate_size"});
  input_first_ = fused_ ? down[2] == up[1] && up[2] == 2 * down[1]
                        : width != 0 && up[2] == width && up[1] != width;
  down_input_first_ = input_first_;
}

// `numbered`: the highest number of an expert with its own tensors, plus one.
void CheckpointLayer::FindExtents(int numbered) {
  if (stacked_) FindStackLayout();
  const auto shape = WeightShape(*files_, coding, Stored(0, Projection::kUp));
  if (experts == 0) experts = stacked_ ? static_cast<int>(shape[0]) : numbered;
  if (experts < numbered || experts > kMaxExperts)
    throw UsageError(files_->Where() + ": config.json says " + std::to_string(experts) +
                     " experts, \"" + prefix_ + "\" has a number " + std::to_string(numbered - 1));
  const std::size_t out = shape.size() - (input_first_ ? 1 : 2);
  const std::size_t in = shape.size() - (input_first_ ? 2 : 1);
  inter = static_cast<int>(fused_ ? shape[out] / 2 : shape[out]);
  hidden = static_cast<int>(shape[in]);
}

// All matrices of all experts are there and fit each other; reads no weights.
void CheckpointLayer::CheckShapes() const {
  const auto require = [&](int expert, Projection projection, int rows, int columns) {
    const StoredMatrix stored = Stored(expert, projection);
    std::vector<std::int64_t> shape = WeightShape(*files_, coding, stored);
    std::int64_t out = shape[shape.size() - 2], in = shape.back();
    if (stored.input_first) std::swap(out, in);
    // A stack may hold unused matrices for the zero experts (LongCat).
    std::int64_t stack = stored.stacked ? shape[0] : experts;
    if (stack == experts + zero_experts_) stack = experts;
    if (out != rows || in != columns || stack != experts)
      throw UsageError("tensor \"" + stored.name + "\": is " + std::to_string(out) + " x " +
                       std::to_string(in) + " for " + std::to_string(stack) + " experts, " +
                       std::to_string(rows) + " x " + std::to_string(columns) + " for " +
                       std::to_string(experts) + " are needed");
  };
  for (int expert = 0; expert < (stacked_ ? 1 : experts); ++expert) {
    if (gated) require(expert, Projection::kGate, fused_ ? 2 * inter : inter, hidden);
    require(expert, Projection::kUp, fused_ ? 2 * inter : inter, hidden);
    require(expert, Projection::kDown, hidden, inter);
  }
}

Checkpoint::Checkpoint(const std::filesystem::path& where)
    : files_(std::make_shared<const CheckpointFiles>(where)) {
  std::set<std::string> prefixes;
  for (const std::string& name : files_->Names())
    if (const std::string prefix = PrefixOf(name); !prefix.empty()) prefixes.insert(prefix);
  layers_.assign(prefixes.begin(), prefixes.end());
  if (layers_.empty())
    throw UsageError(files_->Where() +
                     ": no tensor is named \"...experts...\"; no layer with experts");
}

CheckpointLayer Checkpoint::Layer(const std::string& prefix) const {
  if (!std::binary_search(layers_.begin(), layers_.end(), prefix))
    throw UsageError(files_->Where() + ": no layer \"" + prefix + "\"; the first is \"" +
                     layers_.front() + "\"");
  CheckpointLayer layer;
  layer.files_ = files_;
  layer.prefix_ = prefix;
  const std::set<int> numbers = NumberedExperts(*files_, prefix);
  layer.stacked_ = numbers.empty();
  const std::string first = prefix + (layer.stacked_ ? "" : std::to_string(*numbers.begin()) + ".");
  const ProjectionNames* names =
      layer.stacked_ ? FindNames(*files_, first, kStack) : FindNames(*files_, first, kOneExpert);
  if (names == nullptr)
    throw UsageError(files_->Where() + ": \"" + first + "\": no up projection under a known name");
  layer.gate_ = names->gate;
  layer.up_ = names->up;
  layer.down_ = names->down;
  layer.fused_ = layer.gate_ == layer.up_;
  layer.gated = HasMatrix(*files_, first + names->gate);
  layer.coding = DecideCoding(*files_, first + names->up);
  layer.experts = ConfigExperts(*files_);
  if (files_->Config("zero_expert_num") != 0)
    layer.zero_experts_ = ConfigCount(*files_, {"zero_expert_num"});
  layer.FindExtents(numbers.empty() ? 0 : *numbers.rbegin() + 1);
  layer.CheckShapes();
  return layer;
}

}  // namespace assay
