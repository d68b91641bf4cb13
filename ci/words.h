// Words of the command line beside those of a case line. Parsers throw UsageError.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ci/support_table.h"
#include "fuzz/generate.h"
#include "fuzz/names.h"

namespace assay {

template <>
std::span<const std::string_view> Words<Distribution>();
template <>
std::span<const std::string_view> Words<Outcome>();
template <>
std::span<const std::string_view> Words<MatrixFormat>();

// Every value of an enumeration that has words.
template <typename E>
std::vector<E> AllOf() {
  std::vector<E> all;
  for (std::size_t i = 0; i < Words<E>().size(); ++i) all.push_back(static_cast<E>(i));
  return all;
}

// The value of a word; `what` names the option or key in the error.
template <typename E>
E FromWord(std::string_view what, std::string_view word) {
  if (const auto value = FromName<E>(word)) return *value;
  throw UsageError(
      fmt::format("{} is '{}', which it cannot be: use one of {}", what, word, NamesOf<E>()));
}

// "30s", "5m", "1h"; more than zero, never without a unit.
double SecondsFromWord(std::string_view word);

// What keeps `word` from being a whole number from `least` to the largest int64, as one line; empty
// if nothing does.
std::string WholeNumberProblem(std::string_view word, std::int64_t least);

// "auto" is 0 (one worker a core), otherwise 1..1024.
int WorkersFromWord(std::string_view word);

// Throws EnvironmentError if `device` cannot run here.
void RequireDevice(Device device);

}  // namespace assay
