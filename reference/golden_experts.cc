// Experts of the goldens: storage layouts, activations, clamps, shared experts.
#include <cmath>
#include <numbers>

#include "reference/error.h"
#include "reference/golden_layer.h"

namespace assay {
namespace {

using Vector = Eigen::VectorXd;

// Rows and columns of one expert's stored matrix, and whether it is applied as y = x W.
struct Storage {
  Eigen::Index rows = 0, columns = 0;
  bool input_first = false;
};

Eigen::Index Extent(const Json& layer, const std::string& symbol) {
  const Eigen::Index inter = layer.at("moe_intermediate");
  if (symbol == "I") return inter;
  if (symbol == "2I") return 2 * inter;
  if (symbol == "H") return layer.at("hidden");
  if (symbol == "D") return layer.at("experts").at("latent").at("dim");
  NotBuilt("layout extent", symbol);
}

// "[E,2I,H]", "[E*I,H]^T": what follows E is one expert's matrix.
Storage ReadLayout(const Json& layer, const std::string& layout) {
  const std::size_t comma = layout.rfind(','), close = layout.find(']');
  if (layout.size() < 6 || layout[0] != '[' || layout[1] != 'E' || comma < 3 || close < comma)
    NotBuilt("layout", layout);
  return {Extent(layer, layout.substr(3, comma - 3)),
          Extent(layer, layout.substr(comma + 1, close - comma - 1)),
          layout.ends_with("^T") || layout == "[E,H,2I]"};
}

// One expert's matrix in the form y = W x.
RowMatrix ExpertMatrix(const Json& layer, const Safetensors& file, const Json& where, int expert) {
  const Storage storage = ReadLayout(layer, where.at("layout"));
  const std::vector<double> values = file.Doubles(where.at("tensor").get<std::string>());
  const std::size_t size = storage.rows * storage.columns, first = expert * size;
  if (first + size > values.size())
    throw UsageError("tensor " + where.at("tensor").dump() + ": has no expert " +
                     std::to_string(expert));
  const Eigen::Map<const RowMatrix> stored(values.data() + first, storage.rows, storage.columns);
  return storage.input_first ? RowMatrix(stored.transpose()) : RowMatrix(stored);
}

// y = down * act(gate x + gate_bias, up x + up_bias) + down_bias. Empty: absent.
struct Network {
  RowMatrix gate, up, down;
  Vector gate_bias, up_bias, down_bias;
};

// Splits the fused outputs: halves, or even and odd ones.
template <class Matrix>
void Split(const std::string& packing, const Matrix& fused, Matrix& gate, Matrix& up) {
  const Eigen::Index half = fused.rows() / 2;
  const bool interleaved = packing == "interleaved";
  if (!interleaved && packing != "concatenated") NotBuilt("packing", packing);
  gate.resize(half, fused.cols());
  up.resize(half, fused.cols());
  for (Eigen::Index i = 0; i < half; ++i) {
    gate.row(i) = fused.row(interleaved ? 2 * i : i);
    up.row(i) = fused.row(interleaved ? 2 * i + 1 : half + i);
  }
}

void LoadBiases(const Json& experts, const Safetensors& file, int expert, Network& network) {
  if (!experts.at("gate_up_bias").is_null())
    Split<Vector>(experts.at("packing"),
                  LoadMatrix(file, experts.at("gate_up_bias")).row(expert).transpose(),
                  network.gate_bias, network.up_bias);
  if (!experts.at("down_bias").is_null())
    network.down_bias = LoadMatrix(file, experts.at("down_bias")).row(expert).transpose();
}

Network LoadExpert(const Json& layer, const Safetensors& file, int expert) {
  const Json& experts = layer.at("experts");
  Network network;
  const std::string packing = experts.at("packing");
  if (packing == "separate" || packing == "none") {
    if (packing == "separate") network.gate = ExpertMatrix(layer, file, experts.at("gate"), expert);
    network.up = ExpertMatrix(layer, file, experts.at("up"), expert);
  } else {
    Split<RowMatrix>(packing, ExpertMatrix(layer, file, experts.at("gate_up"), expert),
                     network.gate, network.up);
  }
  network.down = ExpertMatrix(layer, file, experts.at("down"), expert);
  LoadBiases(experts, file, expert, network);
  return network;
}

Network LoadShared(const Json& shared, const Safetensors& file) {
  if (!shared.at("biases").is_null()) NotBuilt("shared.biases", shared.at("biases").dump());
  const Json& tensors = shared.at("tensors");
  Network network;
  if (tensors.contains("gate_up")) {
    Split<RowMatrix>("concatenated", LoadMatrix(file, tensors.at("gate_up")), network.gate,
                     network.up);
  } else {
    if (tensors.contains("gate")) network.gate = LoadMatrix(file, tensors.at("gate"));
    network.up = LoadMatrix(file, tensors.at("up"));
  }
  network.down = LoadMatrix(file, tensors.at("down"));
  return network;
}

double GeluTanh(double x) {
  const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + std::tanh(inner));
}

double SwishAlpha(double alpha, double x) { return x / (1 + std::exp(-alpha * x)); }

double Activate(const std::string& activation, double x) {
  if (activation == "silu") return SwishAlpha(1, x);
  if (activation == "gelu_tanh") return GeluTanh(x);
  if (activation == "relu_squared") return x > 0 ? x * x : 0;
  constexpr std::string_view kAlpha = "swish_alpha=";
  if (activation.starts_with(kAlpha))
    return SwishAlpha(std::stod(activation.substr(kAlpha.size())), x);
  NotBuilt("activation", activation);
}

// The limits of an activation; a limit that is null does not limit.
struct Clamp {
  bool before = false, after = false;
  double gate_max = 0, up_abs_max = 0;

  explicit Clamp(const Json& clamp) {
    if (clamp.is_null()) return;
    before = clamp.at("where") == "before_activation";
    after = clamp.at("where") == "after_activation";
    if (!before && !after) NotBuilt("clamp.where", clamp.at("where"));
    if (!clamp.at("gate_min").is_null()) NotBuilt("clamp.gate_min", clamp.at("gate_min").dump());
    gate_max = clamp.at("gate_max");
    up_abs_max = clamp.at("up_abs_max");
  }
};

// `part` describes the experts or the shared expert: activation, clamp, up_offset, gated.
double Hidden(const Json& part, const Clamp& clamp, double gate, double up) {
  const std::string activation = part.at("activation");
  if (!part.at("gated").get<bool>()) return Activate(activation, up);
  if (clamp.before) gate = std::min(gate, clamp.gate_max);
  if (clamp.before || clamp.after) up = std::clamp(up, -clamp.up_abs_max, clamp.up_abs_max);
  double activated = Activate(activation, gate);
  if (clamp.after) activated = std::min(activated, clamp.gate_max);
  return activated * (up + part.at("up_offset").get<double>());
}

Vector Apply(const Json& part, const Network& network, const Vector& x) {
  const Clamp clamp(part.at("clamp"));
  Vector up = network.up * x;
  if (network.up_bias.size() > 0) up += network.up_bias;
  Vector gate = Vector::Zero(up.size());
  if (network.gate.size() > 0) gate = network.gate * x;
  if (network.gate_bias.size() > 0) gate += network.gate_bias;
  Vector hidden(up.size());
  for (Eigen::Index i = 0; i < up.size(); ++i) hidden[i] = Hidden(part, clamp, gate[i], up[i]);
  Vector out = network.down * hidden;
  if (network.down_bias.size() > 0) out += network.down_bias;
  return out;
}

Vector RoutedTerm(const Json& layer, const Safetensors& file, const Vector& x, const Routed& r) {
  const Json& router = layer.at("router");
  if (r.expert >= layer.at("num_experts").get<int>()) {
    if (router.at("zero_expert_kind") != "identity")
      NotBuilt("zero_expert_kind", router.at("zero_expert_kind").dump());
    return r.weight * x;
  }
  const Network network = LoadExpert(layer, file, r.expert);
  const std::string applied = router.at("weights_applied_to");
  if (applied == "expert_input") return Apply(layer.at("experts"), network, r.weight * x);
  if (applied != "expert_output") NotBuilt("weights_applied_to", applied);
  return r.weight * Apply(layer.at("experts"), network, x);
}

}  // namespace

RowMatrix RoutedOutput(const Json& layer, const Safetensors& file, const RowMatrix& input,
                       const std::vector<std::vector<Routed>>& routed) {
  RowMatrix output = RowMatrix::Zero(input.rows(), input.cols());
  for (Eigen::Index token = 0; token < input.rows(); ++token)
    for (const Routed& r : routed[token])
      output.row(token) += RoutedTerm(layer, file, input.row(token), r).transpose();
  return output;
}

RowMatrix SharedOutput(const Json& shared, const Safetensors& file, const RowMatrix& hidden) {
  const Network network = LoadShared(shared, file);
  const std::string gate = shared.at("gate");
  if (gate != "none" && gate != "sigmoid") NotBuilt("shared.gate", gate);
  RowMatrix output(hidden.rows(), network.down.rows());
  for (Eigen::Index token = 0; token < hidden.rows(); ++token) {
    double factor = 1;
    if (gate == "sigmoid")
      factor =
          1 / (1 + std::exp(-LoadVector(file, shared.at("gate_tensor")).dot(hidden.row(token))));
    output.row(token) = factor * Apply(shared, network, hidden.row(token)).transpose();
  }
  return output;
}

}  // namespace assay
