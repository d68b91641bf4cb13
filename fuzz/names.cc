#include "fuzz/names.h"

#include <array>

namespace assay {

template <>
std::span<const std::string_view> Words<PathId>() {
  static const auto words = [] {
    std::array<std::string_view, kPathCount> all;
    for (int i = 0; i < kPathCount; ++i) all[i] = Token(static_cast<PathId>(i));
    return all;
  }();
  return words;
}

template <>
std::span<const std::string_view> Words<Checks>() {
  static constexpr std::array<std::string_view, 3> kWords{"fast", "standard", "all"};
  return kWords;
}

template <>
std::span<const std::string_view> Words<Device>() {
  static constexpr std::array<std::string_view, 2> kWords{"host", "cuda"};
  return kWords;
}

}  // namespace assay
