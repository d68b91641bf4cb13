#include "reference/golden_layer.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "reference/error.h"

namespace assay {
namespace {

// x W^T of a tensor.
RowMatrix Times(const RowMatrix& x, const Safetensors& file, const Json& tensor) {
  const RowMatrix matrix = LoadMatrix(file, tensor);
  RequireExtent(matrix.cols(), x.cols(), "inputs of " + ShortJson(tensor));
  return x * matrix.transpose();
}

RowMatrix ExpertsInput(const Json& layer, const Safetensors& file, const RowMatrix& hidden) {
  const Json& experts = layer.at("experts");
  RowMatrix input = hidden;
  if (!experts.at("input_norm").is_null()) input = RmsNorm(experts.at("input_norm"), file, input);
  if (!experts.at("latent").is_null()) input = Times(input, file, experts.at("latent").at("in"));
  return input;
}

// After the weighted sum: out of the latent space, times the scale, plus shared, norm.
RowMatrix Output(const Json& layer, const Safetensors& file, const RowMatrix& hidden,
                 const RowMatrix& experts_output) {
  const Json& latent = layer.at("experts").at("latent");
  const Json& router = layer.at("router");
  RowMatrix output = experts_output;
  if (!latent.is_null()) output = Times(output, file, latent.at("out"));
  if (router.at("routed_scaling_applied_to") == "routed_output")
    output *= router.at("routed_scaling_factor").get<double>();
  if (!layer.at("shared").is_null()) {
    const RowMatrix shared = SharedOutput(layer.at("shared"), file, hidden);
    RequireExtent(shared.cols(), output.cols(), "outputs of the shared expert");
    output += shared;
  }
  if (!layer.at("post_norm").is_null()) output = RmsNorm(layer.at("post_norm"), file, output);
  return output;
}

RowMatrix NormBy(const Safetensors& file, const char* weight, const RowMatrix& x) {
  return RmsNorm({{"kind", "rmsnorm"}, {"weight", weight}, {"eps", 1e-6}}, file, x);
}

// The feed-forward half of a gemma4 decoder layer around the block.
RowMatrix Gemma4Layer(const Safetensors& file, const RowMatrix& hidden, const RowMatrix& output) {
  const Json mlp = {{"gated", true},
                    {"activation", "gelu_tanh"},
                    {"clamp", nullptr},
                    {"up_offset", 0.0},
                    {"gate", "none"},
                    {"biases", nullptr},
                    {"tensors",
                     {{"gate", "mlp.gate_proj.weight"},
                      {"up", "mlp.up_proj.weight"},
                      {"down", "mlp.down_proj.weight"}}}};
  const RowMatrix dense =
      SharedOutput(mlp, file, NormBy(file, "pre_feedforward_layernorm.weight", hidden));
  const RowMatrix sum = NormBy(file, "post_feedforward_layernorm_1.weight", dense) +
                        NormBy(file, "post_feedforward_layernorm_2.weight", output);
  return hidden + NormBy(file, "post_feedforward_layernorm.weight", sum);
}

// Not finite where it should be a number: infinitely wrong.
double Off(double expected, double got) {
  const double off = std::fabs(expected - got);
  return std::isfinite(off) ? off : HUGE_VAL;
}

double RelativeError(const std::vector<double>& expected, const RowMatrix& got) {
  if (expected.size() != std::size_t(got.size()))
    throw UsageError("a golden holds " + std::to_string(expected.size()) +
                     " values, the reference " + std::to_string(got.size()));
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    error = std::max(error, Off(expected[i], got.data()[i]));
    if (std::isfinite(expected[i])) largest = std::max(largest, std::fabs(expected[i]));
  }
  return largest > 0 ? error / largest : error;
}

// Selection as a set of (expert, weight) pairs: an id that the other side lacks is an infinite
// error. Duplicates (a hash table may hold them) count once each.
double WeightError(const std::vector<double>& ids, const std::vector<double>& weights,
                   const std::vector<std::vector<Routed>>& routed) {
  double largest = 0, error = 0;
  if (routed.empty() || ids.size() != weights.size() || ids.size() % routed.size() != 0)
    return HUGE_VAL;
  const std::size_t top_k = ids.size() / routed.size();
  for (std::size_t token = 0; token < routed.size(); ++token) {
    std::multimap<int, double> left;
    for (const Routed& r : routed[token]) left.emplace(r.expert, r.weight);
    for (std::size_t at = token * top_k; at < (token + 1) * top_k; ++at) {
      const auto found = left.find(static_cast<int>(ids[at]));
      if (found == left.end()) return HUGE_VAL;
      error = std::max(error, Off(weights[at], found->second));
      if (std::isfinite(weights[at])) largest = std::max(largest, std::fabs(weights[at]));
      left.erase(found);
    }
    if (!left.empty()) return HUGE_VAL;
  }
  return largest > 0 ? error / largest : error;
}

// f64.* have no FP32 step: what remains is the order of double sums. 1e-12 is four thousand double
// units, far above the sums' own error (at most a few hundred terms) and far below any FP32 step.
constexpr double kDoubleTolerance = 1e-12;
// io.* hold the FP32 steps inside the routers (u = 6e-8): up to about ten roundings meet in a
// weight. The README of the goldens states 1e-6 relative to the largest value.
constexpr double kFloatTolerance = 1e-6;

class Comparison {
 public:
  Comparison(const Safetensors& file, const LayerValues& values) : file_(file), values_(values) {}

  GoldenResult Run(std::string name) {
    result_.name = std::move(name);
    for (const std::string leg : {"f64.", "io."}) {
      Matrix(leg + "router_logits", values_.router_logits);
      Weights(leg + "topk_weights");
      Matrix(leg + "experts_input", values_.experts_input);
      Matrix(leg + "experts_output", values_.experts_output);
      Matrix(leg + "output", values_.output);
      Matrix(leg + "layer_output", values_.layer_output);
    }
    return std::move(result_);
  }

 private:
  void Matrix(const std::string& tensor, const RowMatrix& got) {
    if (file_.Has(tensor)) Note(tensor, RelativeError(file_.Doubles(tensor), got));
  }

  void Weights(const std::string& tensor) {
    if (file_.Has(tensor))
      Note(tensor,
           WeightError(file_.Doubles("io.topk_indices"), file_.Doubles(tensor), values_.routed));
  }

  void Note(const std::string& tensor, double error) {
    const double tolerance = tensor.starts_with("f64.") ? kDoubleTolerance : kFloatTolerance;
    result_.tensors.emplace_back(tensor, error);
    result_.error = std::max(result_.error, error);
    if (error <= tolerance || result_.outcome == GoldenResult::kFailed) return;
    result_.outcome = GoldenResult::kFailed;
    char text[160];
    std::snprintf(text, sizeof text, "%s: error %.3g of the largest value, %.0e is allowed",
                  tensor.c_str(), error, tolerance);
    result_.reason = text;
  }

  const Safetensors& file_;
  const LayerValues& values_;
  GoldenResult result_;
};

// What every case must hold, with its extents by the description: without it a case would pass for
// want of something to compare.
struct NeededTensor {
  const char* name;
  Eigen::Index rows, columns;
};

void RequireTensors(const Json& layer, const Safetensors& file) {
  const Eigen::Index tokens = layer.at("tokens"), hidden = layer.at("hidden"),
                     top_k = layer.at("top_k"), experts = layer.at("num_experts"),
                     outputs = experts + layer.at("router").at("zero_expert_num").get<int>();
  const NeededTensor needed[] = {{"io.hidden_states", tokens, hidden},
                                 {"io.topk_indices", tokens, top_k},
                                 {"f64.router_logits", tokens, outputs},
                                 {"f64.topk_weights", tokens, top_k},
                                 {"f64.output", tokens, hidden}};
  for (const NeededTensor& tensor : needed) {
    const TensorView& view = file.Get(tensor.name);
    const std::string name = tensor.name;
    if (view.shape.size() != 2)
      throw UsageError("tensor \"" + name + "\": must have two dimensions");
    RequireExtent(view.shape[0], tensor.rows, "tensor \"" + name + "\", dimension 0");
    RequireExtent(view.shape[1], tensor.columns, "tensor \"" + name + "\", dimension 1");
  }
}

GoldenResult EvaluateCase(const Json& layer, const std::filesystem::path& path) {
  const std::string name = "layer/" + layer.at("name").get<std::string>();
  const Safetensors file = Safetensors::Open(path);
  try {
    RequireTensors(layer, file);
    return Comparison(file, EvaluateLayer(layer, file)).Run(name);
  } catch (const UsageError& error) {
    const std::string what = error.what();
    throw UsageError(what.starts_with(path.string()) ? what : path.string() + ": " + what);
  } catch (const UnsupportedProblem& missing) {
    GoldenResult result;
    result.name = name;
    result.outcome = GoldenResult::kSkipped;
    result.reason = missing.what();
    return result;
  }
}

}  // namespace

void NotBuilt(const std::string& field, const std::string& value) {
  throw UnsupportedProblem(field + "=" + value + ": not built yet");
}

void RequireExtent(std::int64_t got, std::int64_t wanted, const std::string& what) {
  if (got != wanted)
    throw UsageError(what + ": is " + std::to_string(got) + ", the description needs " +
                     std::to_string(wanted));
}

RowMatrix LoadMatrix(const Safetensors& file, const std::string& tensor) {
  const TensorView& view = file.Get(tensor);
  const std::vector<double> values = file.Doubles(tensor);
  const Eigen::Index columns = view.shape.empty() ? 1 : view.shape.back();
  if (columns == 0) throw UsageError("tensor \"" + tensor + "\": is empty");
  return Eigen::Map<const RowMatrix>(values.data(), Eigen::Index(values.size()) / columns, columns);
}

Eigen::VectorXd LoadVector(const Safetensors& file, const std::string& tensor) {
  const std::vector<double> values = file.Doubles(tensor);
  return Eigen::Map<const Eigen::VectorXd>(values.data(), Eigen::Index(values.size()));
}

RowMatrix RmsNorm(const Json& norm, const Safetensors& file, const RowMatrix& x) {
  if (norm.at("kind") != "rmsnorm") NotBuilt("norm", norm.at("kind"));
  RowMatrix y = x;
  for (Eigen::Index row = 0; row < x.rows(); ++row)
    y.row(row) /=
        std::sqrt(x.row(row).squaredNorm() / double(x.cols()) + norm.at("eps").get<double>());
  if (norm.at("weight").is_null()) return y;
  const Eigen::VectorXd weight = LoadVector(file, norm.at("weight"));
  RequireExtent(weight.size(), x.cols(), "extent of " + ShortJson(norm.at("weight")));
  return y * weight.asDiagonal();
}

LayerValues EvaluateLayer(const Json& layer, const Safetensors& file) {
  const RowMatrix hidden = LoadMatrix(file, "io.hidden_states");
  LayerValues values;
  values.router_logits = RouterLogits(layer, file, hidden);
  for (Eigen::Index token = 0; token < hidden.rows(); ++token)
    values.routed.push_back(
        RouteToken(layer, file, values.router_logits.row(token), static_cast<int>(token)));
  values.experts_input = ExpertsInput(layer, file, hidden);
  values.experts_output = RoutedOutput(layer, file, values.experts_input, values.routed);
  values.output = Output(layer, file, hidden, values.experts_output);
  if (file.Has("io.layer_output")) values.layer_output = Gemma4Layer(file, hidden, values.output);
  return values;
}

std::vector<GoldenResult> LayerGoldens(const Json& cases, const std::filesystem::path& dir) {
  std::vector<GoldenResult> results;
  for (const Json& layer : cases.at("cases")) {
    const std::filesystem::path file = dir / layer.at("file").get<std::string>();
    if (std::filesystem::exists(file)) results.push_back(EvaluateCase(layer, file));
  }
  return results;
}

}  // namespace assay
