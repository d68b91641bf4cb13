// Experts of the goldens: storage layouts, activations, clamps, shared experts.
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

using Network = ExpertNetwork;

// Splits the fused outputs: halves, or even and odd ones.
template <class Matrix>
void Split(const std::string& packing, const Matrix& fused, Matrix& gate, Matrix& up) {
  const bool interleaved = packing == "interleaved";
  if (!interleaved && packing != "concatenated") NotBuilt("packing", packing);
  SplitFused(interleaved ? FusedOrder::kInterleaved : FusedOrder::kConcatenated, fused, gate, up);
}

// Which of the two a fused matrix holds first; null where nothing is fused.
void Order(const Json& experts, Network& network) {
  const Json& order = experts.at("order");
  if (order.is_null() || order == "gate_then_up" || order == "up_only") return;
  if (order != "up_then_gate") NotBuilt("order", order.dump());
  network.gate.swap(network.up);
  network.gate_bias.swap(network.up_bias);
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
  Order(experts, network);
  return network;
}

// y = down act(gate x, up x) for inputs of that width.
void RequireFits(const Network& n, bool gated, Eigen::Index inputs, const std::string& whose) {
  RequireExtent(n.up.cols(), inputs, whose + ": inputs of up");
  RequireExtent(n.down.cols(), n.up.rows(), whose + ": inputs of down");
  if (gated) {
    RequireExtent(n.gate.rows(), n.up.rows(), whose + ": outputs of gate");
    RequireExtent(n.gate.cols(), inputs, whose + ": inputs of gate");
  }
  const std::pair<const Vector*, Eigen::Index> biases[] = {
      {&n.gate_bias, n.up.rows()}, {&n.up_bias, n.up.rows()}, {&n.down_bias, n.down.rows()}};
  for (const auto& [bias, outputs] : biases)
    if (bias->size() > 0) RequireExtent(bias->size(), outputs, whose + ": extent of a bias");
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

void ReadActivation(const std::string& word, ExpertRule& rule) {
  constexpr std::string_view kAlpha = "swish_alpha=";
  rule.alpha = word.starts_with(kAlpha) ? std::stod(word.substr(kAlpha.size())) : 1;
  if (word == "silu")
    rule.activation = ActivationKind::kSilu;
  else if (word == "gelu_tanh")
    rule.activation = ActivationKind::kGeluTanh;
  else if (word == "gelu_erf")
    rule.activation = ActivationKind::kGeluErf;
  else if (word == "relu_squared")
    rule.activation = ActivationKind::kReluSquared;
  else if (word.starts_with(kAlpha))
    rule.activation = ActivationKind::kSwishAlpha;
  else
    NotBuilt("activation", word);
}

// A limit that is null does not limit.
void ReadLimit(const Json& clamp, const char* field, double& limit) {
  if (clamp.contains(field) && !clamp.at(field).is_null()) limit = clamp.at(field);
}

void ReadClamp(const Json& clamp, ExpertRule& rule) {
  if (clamp.is_null()) return;
  const std::string where = clamp.at("where");
  if (where == "before_activation")
    rule.clamp = ClampAt::kBeforeActivation;
  else if (where == "after_activation")
    rule.clamp = ClampAt::kAfterActivation;
  else
    NotBuilt("clamp.where", where);
  ReadLimit(clamp, "gate_max", rule.gate_max);
  ReadLimit(clamp, "gate_min", rule.gate_min);
  ReadLimit(clamp, "up_abs_max", rule.up_abs_max);
}

Vector Apply(const Json& part, const Network& network, const Vector& x) {
  RequireFits(network, part.at("gated"), x.size(), "an expert");
  return EvaluateExpert(ReadExpertRule(part), network, x);
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

ExpertRule ReadExpertRule(const Json& part) {
  ExpertRule rule;
  rule.gated = part.at("gated");
  rule.up_offset = part.at("up_offset");
  ReadActivation(part.at("activation"), rule);
  ReadClamp(part.at("clamp"), rule);
  return rule;
}

RowMatrix SharedOutput(const Json& shared, const Safetensors& file, const RowMatrix& hidden) {
  const std::string gate = shared.at("gate");
  if (gate != "none" && gate != "sigmoid") NotBuilt("shared.gate", gate);
  SharedExpert expert{ReadExpertRule(shared), LoadShared(shared, file), {}};
  if (gate == "sigmoid") expert.gate = LoadVector(file, shared.at("gate_tensor"));
  RequireFits(expert.network, expert.rule.gated, hidden.cols(), "the shared expert");
  if (expert.gate.size() > 0)
    RequireExtent(expert.gate.size(), hidden.cols(), "extent of the shared expert's gate");
  RowMatrix output(hidden.rows(), expert.network.down.rows());
  for (Eigen::Index token = 0; token < hidden.rows(); ++token)
    output.row(token) = EvaluateShared({&expert, 1}, hidden.row(token)).transpose();
  return output;
}

}  // namespace assay
