// The description of one MoE layer step: everything that decides what the layer computes and how
// its weights lie in memory. Pure data; the field names are those of a case line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace assay {

// Weight formats. Group sizes and code words: formats.h.
enum class Format { kNvfp4, kMxfp4, kMxfp8, kFp8Block, kFp8Channel, kInt4G32, kInt4G128, kBf16 };

// Which copies of a quantised weight exist. kHybrid: both. kLean: the row-major buffer repacked in
// place to the transposed one.
enum class Layout { kRowMajor, kTransposed, kHybrid, kLean };

enum class RouterKind {
  kSoftmax,
  kSigmoidBias,
  kSqrtsoftplusBias,
  kSoftmaxBias,
  kHash,
  kGroupedSigmoidBias,
  kTopkSoftmax,
  kSigmoidTop1
};
enum class Activation { kSilu, kGeluTanh, kSwigluOai, kRelu2 };
enum class SharedGate { kSigmoid, kNone };
enum class Lora { kOff, kFold, kSkip, kRefuse };
enum class EpMap { kEven, kUneven };

// How the step's data are drawn (from the seed). kStray: a hash table that names experts which do
// not exist.
enum class RoutingDraw { kUniform, kDisjoint, kZipf, kIdentical, kOneHot, kEmpty, kLast, kStray };
enum class DataDraw {
  kGauss,
  kHeavy,
  kOutlier,
  kPow2,
  kInteger,
  kHalf,
  kExtreme,
  kDistinct,
  kZero
};
enum class LogitDraw { kPlain, kTies, kNearTies, kNan, kInf, kSaturated, kWide };

// Code words on which the OCP standard and the production engine disagree: E8M0 0 and 255 are
// 2^-127 and NaN (standard) or 0.0 and 0.0 (production).
enum class CodePolicy { kProduction, kStandard };

// An id that names no expert: every slot of a row whose routing is refused, with weight 0. All bits
// set is left for "never written".
inline constexpr std::uint32_t kNoExpert = 0xFFFFFFFE;

struct Problem {
  int rows = 1;  // tokens of the step
  int hidden = 256, inter = 128;
  int experts = 8, top_k = 2;
  Format format = Format::kNvfp4;
  Layout layout = Layout::kRowMajor;

  RouterKind router = RouterKind::kSoftmax;
  bool norm = true;    // weights divided by their sum
  double scale = 1.0;  // routed_scaling_factor; the plain softmax router has none
  int groups = 1, groups_kept = 1;
  int zero_experts = 0;
  bool router_bias = false, pre_norm = false, fp32_gate = false;
  Format gate_format = Format::kBf16;
  bool pre_expert_norm = false;  // RMS norm before the routed experts

  Activation activation = Activation::kSilu;
  double limit = 0.0;        // clamp of gate and up before the activation; 0: none
  bool expert_bias = false;  // gate, up and down of routed experts have biases

  std::optional<Format> shared;  // format of the shared expert, or none
  int shared_inter = 0;          // 0: as inter
  SharedGate shared_gate = SharedGate::kSigmoid;

  Lora lora = Lora::kOff;
  int ep = 1;
  EpMap ep_map = EpMap::kEven;
  bool graph = false;

  RoutingDraw routing = RoutingDraw::kUniform;
  DataDraw data = DataDraw::kGauss;
  LogitDraw logits = LogitDraw::kPlain;
  CodePolicy codes = CodePolicy::kProduction;
  std::uint64_t seed = 0;

  bool HasSharedGate() const { return shared && shared_gate == SharedGate::kSigmoid; }
  int SharedInter() const { return shared_inter > 0 ? shared_inter : inter; }
  int RouterOutputs() const { return experts + zero_experts; }
  std::int64_t Slots() const { return std::int64_t{rows} * top_k; }

  bool operator==(const Problem&) const = default;
};

// The rule that a problem breaks whatever the path (top_k > experts, hidden < 1, ...), as one line
// that names the value and the rule; nullopt if it is a possible layer.
std::optional<std::string> Impossible(const Problem& problem);

}  // namespace assay
