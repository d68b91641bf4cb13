// The words of a case line for every enumeration of problem.h, in the order of the enumerators.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "reference/problem.h"

namespace assay {

// All words of one enumeration; the position is the enumerator's value.
template <class Enum>
std::span<const std::string_view> Tokens();

template <>
std::span<const std::string_view> Tokens<Format>();
template <>
std::span<const std::string_view> Tokens<Layout>();
template <>
std::span<const std::string_view> Tokens<RouterKind>();
template <>
std::span<const std::string_view> Tokens<Activation>();
template <>
std::span<const std::string_view> Tokens<SharedGate>();
template <>
std::span<const std::string_view> Tokens<Lora>();
template <>
std::span<const std::string_view> Tokens<EpMap>();
template <>
std::span<const std::string_view> Tokens<RoutingDraw>();
template <>
std::span<const std::string_view> Tokens<DataDraw>();
template <>
std::span<const std::string_view> Tokens<LogitDraw>();
template <>
std::span<const std::string_view> Tokens<CodePolicy>();

// The enumerator that `token` names, or nullopt.
template <class Enum>
std::optional<Enum> FromToken(std::string_view token) {
  const auto tokens = Tokens<Enum>();
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] == token) return static_cast<Enum>(i);
  return std::nullopt;
}

std::string_view Token(Format value);
std::string_view Token(Layout value);
std::string_view Token(RouterKind value);
std::string_view Token(Activation value);
std::string_view Token(SharedGate value);
std::string_view Token(Lora value);
std::string_view Token(EpMap value);
std::string_view Token(RoutingDraw value);
std::string_view Token(DataDraw value);
std::string_view Token(LogitDraw value);
std::string_view Token(CodePolicy value);

}  // namespace assay
