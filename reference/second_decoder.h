// A second decoder, on another principle than small_float.h and containers.cc, so that the
// reference does not check kernels with the mistake that it shares with them: values by assembling
// IEEE bits instead of arithmetic, matrices by walking the bytes and scattering their codes instead
// of asking for the bits of each weight. It includes nothing of the first.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reference/containers.h"

namespace assay {

// The value of every code, by the format's name: e2m1 e2m3 e3m2 e4m3 e5m2 fp16 bf16 e8m0. Code
// policy of the standard.
using DecodeTables = std::map<std::string, std::vector<double>>;
DecodeTables FirstTables();   // of the codecs in small_float.h, bf16.h and e8m0.h
DecodeTables SecondTables();  // by bits

// The first code on which two tables differ, as one line; NaN equals NaN, zeros differ by sign.
std::optional<std::string> FirstDifference(const DecodeTables& a, const DecodeTables& b);

// All weights of a container, [rows, columns], by walking its bytes.
std::vector<double> SecondWeights(const Container& matrix, const DecodeTables& tables);

}  // namespace assay
