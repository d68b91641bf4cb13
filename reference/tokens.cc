#include "reference/tokens.h"

#include <array>

namespace assay {
namespace {

template <class Enum>
std::string_view At(Enum value) {
  return Tokens<Enum>()[static_cast<std::size_t>(value)];
}

using Words = std::string_view;
constexpr std::array<Words, 8> kFormatWords{"nvfp4",       "mxfp4",    "mxfp8",     "fp8_block",
                                            "fp8_channel", "int4_g32", "int4_g128", "bf16"};
constexpr std::array<Words, 4> kLayoutWords{"row_major", "transposed", "hybrid", "lean"};
constexpr std::array<Words, 8> kRouterKindWords{
    "softmax", "sigmoid_bias",         "sqrtsoftplus_bias", "softmax_bias",
    "hash",    "grouped_sigmoid_bias", "topk_softmax",      "sigmoid_top1"};
constexpr std::array<Words, 4> kActivationWords{"silu", "gelu_tanh", "swiglu_oai", "relu2"};
constexpr std::array<Words, 2> kSharedGateWords{"sigmoid", "none"};
constexpr std::array<Words, 4> kLoraWords{"off", "fold", "skip", "refuse"};
constexpr std::array<Words, 2> kEpMapWords{"even", "uneven"};
constexpr std::array<Words, 8> kRoutingDrawWords{"uniform", "disjoint", "zipf", "identical",
                                                 "one_hot", "empty",    "last", "stray"};
constexpr std::array<Words, 9> kDataDrawWords{"gauss", "heavy",   "outlier",  "pow2", "integer",
                                              "half",  "extreme", "distinct", "zero"};
constexpr std::array<Words, 7> kLogitDrawWords{"plain", "ties",      "near_ties", "nan",
                                               "inf",   "saturated", "wide"};
constexpr std::array<Words, 2> kCodePolicyWords{"production", "standard"};

}  // namespace

template <>
std::span<const std::string_view> Tokens<Format>() {
  return kFormatWords;
}
template <>
std::span<const std::string_view> Tokens<Layout>() {
  return kLayoutWords;
}
template <>
std::span<const std::string_view> Tokens<RouterKind>() {
  return kRouterKindWords;
}
template <>
std::span<const std::string_view> Tokens<Activation>() {
  return kActivationWords;
}
template <>
std::span<const std::string_view> Tokens<SharedGate>() {
  return kSharedGateWords;
}
template <>
std::span<const std::string_view> Tokens<Lora>() {
  return kLoraWords;
}
template <>
std::span<const std::string_view> Tokens<EpMap>() {
  return kEpMapWords;
}
template <>
std::span<const std::string_view> Tokens<RoutingDraw>() {
  return kRoutingDrawWords;
}
template <>
std::span<const std::string_view> Tokens<DataDraw>() {
  return kDataDrawWords;
}
template <>
std::span<const std::string_view> Tokens<LogitDraw>() {
  return kLogitDrawWords;
}
template <>
std::span<const std::string_view> Tokens<CodePolicy>() {
  return kCodePolicyWords;
}

std::string_view Token(Format value) { return At(value); }
std::string_view Token(Layout value) { return At(value); }
std::string_view Token(RouterKind value) { return At(value); }
std::string_view Token(Activation value) { return At(value); }
std::string_view Token(SharedGate value) { return At(value); }
std::string_view Token(Lora value) { return At(value); }
std::string_view Token(EpMap value) { return At(value); }
std::string_view Token(RoutingDraw value) { return At(value); }
std::string_view Token(DataDraw value) { return At(value); }
std::string_view Token(LogitDraw value) { return At(value); }
std::string_view Token(CodePolicy value) { return At(value); }

}  // namespace assay
