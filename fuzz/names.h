// The tokens of a case line for every enumeration that a case holds.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "fuzz/case.h"

namespace assay {

template <typename E>
using Named = std::pair<E, std::string_view>;

inline constexpr Named<PathId> kPathNames[] = {{PathId::kSingle, "single"},
                                               {PathId::kK2, "k2"},
                                               {PathId::kK3, "k3"},
                                               {PathId::kKn, "kn"},
                                               {PathId::kAtomicC4, "atomic_c4"},
                                               {PathId::kBatched, "batched"},
                                               {PathId::kFp8Grouped, "fp8_grouped"},
                                               {PathId::kPrefill, "prefill"}};
inline constexpr Named<Format> kFormatNames[] = {{Format::kNvfp4, "nvfp4"},
                                                 {Format::kMxfp4, "mxfp4"},
                                                 {Format::kMxfp8, "mxfp8"},
                                                 {Format::kFp8Block, "fp8_block"},
                                                 {Format::kFp8Channel, "fp8_channel"},
                                                 {Format::kInt4G32, "int4_g32"},
                                                 {Format::kInt4G128, "int4_g128"},
                                                 {Format::kBf16, "bf16"}};
inline constexpr Named<Layout> kLayoutNames[] = {{Layout::kRowMajor, "row_major"},
                                                 {Layout::kTransposed, "transposed"},
                                                 {Layout::kHybrid, "hybrid"},
                                                 {Layout::kLean, "lean"}};
inline constexpr Named<RouterKind> kRouterNames[] = {
    {RouterKind::kSoftmax, "softmax"},
    {RouterKind::kSigmoidBias, "sigmoid_bias"},
    {RouterKind::kSqrtsoftplusBias, "sqrtsoftplus_bias"},
    {RouterKind::kSoftmaxBias, "softmax_bias"},
    {RouterKind::kHash, "hash"},
    {RouterKind::kGroupedSigmoidBias, "grouped_sigmoid_bias"},
    {RouterKind::kTopkSoftmax, "topk_softmax"},
    {RouterKind::kSigmoidTop1, "sigmoid_top1"}};
inline constexpr Named<Activation> kActivationNames[] = {{Activation::kSilu, "silu"},
                                                         {Activation::kGeluTanh, "gelu_tanh"},
                                                         {Activation::kSwigluOai, "swiglu_oai"},
                                                         {Activation::kRelu2, "relu2"}};
inline constexpr Named<SharedGate> kSharedGateNames[] = {{SharedGate::kSigmoid, "sigmoid"},
                                                         {SharedGate::kNone, "none"}};
inline constexpr Named<Lora> kLoraNames[] = {
    {Lora::kOff, "off"}, {Lora::kFold, "fold"}, {Lora::kSkip, "skip"}, {Lora::kRefuse, "refuse"}};
inline constexpr Named<EpMap> kEpMapNames[] = {{EpMap::kEven, "even"}, {EpMap::kUneven, "uneven"}};
inline constexpr Named<RoutingDraw> kRoutingNames[] = {
    {RoutingDraw::kUniform, "uniform"}, {RoutingDraw::kDisjoint, "disjoint"},
    {RoutingDraw::kZipf, "zipf"},       {RoutingDraw::kIdentical, "identical"},
    {RoutingDraw::kOneHot, "one_hot"},  {RoutingDraw::kEmpty, "empty"},
    {RoutingDraw::kLast, "last"}};
inline constexpr Named<DataDraw> kDataNames[] = {
    {DataDraw::kGauss, "gauss"},     {DataDraw::kHeavy, "heavy"},
    {DataDraw::kOutlier, "outlier"}, {DataDraw::kPow2, "pow2"},
    {DataDraw::kInteger, "integer"}, {DataDraw::kHalf, "half"},
    {DataDraw::kExtreme, "extreme"}, {DataDraw::kDistinct, "distinct"},
    {DataDraw::kZero, "zero"}};
inline constexpr Named<LogitDraw> kLogitNames[] = {
    {LogitDraw::kPlain, "plain"}, {LogitDraw::kTies, "ties"}, {LogitDraw::kNearTies, "near_ties"},
    {LogitDraw::kNan, "nan"},     {LogitDraw::kInf, "inf"},   {LogitDraw::kSaturated, "saturated"},
    {LogitDraw::kWide, "wide"}};
inline constexpr Named<CodePolicy> kCodeNames[] = {{CodePolicy::kProduction, "production"},
                                                   {CodePolicy::kStandard, "standard"}};
inline constexpr Named<Checks> kCheckNames[] = {
    {Checks::kFast, "fast"}, {Checks::kStandard, "standard"}, {Checks::kAll, "all"}};
inline constexpr Named<Device> kDeviceNames[] = {{Device::kHost, "host"}, {Device::kCuda, "cuda"}};

// One overload per enumeration lets the templates below find the table.
constexpr std::span<const Named<PathId>> Names(PathId) { return kPathNames; }
constexpr std::span<const Named<Format>> Names(Format) { return kFormatNames; }
constexpr std::span<const Named<Layout>> Names(Layout) { return kLayoutNames; }
constexpr std::span<const Named<RouterKind>> Names(RouterKind) { return kRouterNames; }
constexpr std::span<const Named<Activation>> Names(Activation) { return kActivationNames; }
constexpr std::span<const Named<SharedGate>> Names(SharedGate) { return kSharedGateNames; }
constexpr std::span<const Named<Lora>> Names(Lora) { return kLoraNames; }
constexpr std::span<const Named<EpMap>> Names(EpMap) { return kEpMapNames; }
constexpr std::span<const Named<RoutingDraw>> Names(RoutingDraw) { return kRoutingNames; }
constexpr std::span<const Named<DataDraw>> Names(DataDraw) { return kDataNames; }
constexpr std::span<const Named<LogitDraw>> Names(LogitDraw) { return kLogitNames; }
constexpr std::span<const Named<CodePolicy>> Names(CodePolicy) { return kCodeNames; }
constexpr std::span<const Named<Checks>> Names(Checks) { return kCheckNames; }
constexpr std::span<const Named<Device>> Names(Device) { return kDeviceNames; }

// The token of a value; every value of every enumeration has one.
template <typename E>
constexpr std::string_view NameOf(E value) {
  for (const auto& [named, name] : Names(E{})) {
    if (named == value) return name;
  }
  return "?";
}

template <typename E>
constexpr std::optional<E> FromName(std::string_view text) {
  for (const auto& [named, name] : Names(E{})) {
    if (name == text) return named;
  }
  return std::nullopt;
}

// All tokens, separated by spaces: the domain as the documentation prints it.
template <typename E>
std::string NamesOf() {
  std::string all;
  for (const auto& [named, name] : Names(E{})) all += (all.empty() ? "" : " ") + std::string(name);
  return all;
}

}  // namespace assay
