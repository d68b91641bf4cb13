// The three kinds of goldens; golden.cc puts them together.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "reference/golden.h"

namespace assay {

using Json = nlohmann::json;

// Each takes the parsed description and the folder that holds the tensor files.
std::vector<GoldenResult> LayerGoldens(const Json& cases, const std::filesystem::path& dir);
std::vector<GoldenResult> DecodeGoldens(const Json& formats);
std::vector<GoldenResult> EncodeGoldens(const std::filesystem::path& file);
std::vector<GoldenResult> Bf16Goldens(const std::filesystem::path& file);
std::vector<GoldenResult> PackedGoldens(const Json& packed, const std::filesystem::path& dir);

// A result of exact comparisons: failed if any count is above zero.
GoldenResult ExactResult(std::string name, std::vector<std::pair<std::string, double>> differing);

}  // namespace assay
