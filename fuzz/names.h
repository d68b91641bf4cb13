// The words of a case line: those of reference/tokens.h, and those of the enumerations that a
// problem does not hold.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "fuzz/case.h"
#include "reference/tokens.h"

namespace assay {

// All words of an enumeration; the position is the enumerator's value.
template <typename E>
std::span<const std::string_view> Words() {
  return Tokens<E>();
}
template <>
std::span<const std::string_view> Words<PathId>();
template <>
std::span<const std::string_view> Words<Checks>();
template <>
std::span<const std::string_view> Words<Device>();

template <typename E>
std::string_view NameOf(E value) {
  return Words<E>()[static_cast<std::size_t>(value)];
}

template <typename E>
std::optional<E> FromName(std::string_view text) {
  const auto words = Words<E>();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == text) return static_cast<E>(i);
  }
  return std::nullopt;
}

// All words, separated by spaces: the domain as the documentation prints it.
template <typename E>
std::string NamesOf() {
  std::string all;
  for (const std::string_view word : Words<E>()) {
    if (!all.empty()) all += ' ';
    all += word;
  }
  return all;
}

}  // namespace assay
