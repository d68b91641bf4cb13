// JSON that other people wrote: read whole, with limits, before anybody looks at it.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace assay {

using Json = nlohmann::json;

// Throws UsageError that names `name` and the rule: not JSON, nested deeper than 32, an object with
// a name twice, a string of more than 4096 bytes, a number that is no double, more than 64 MiB.
Json ParseJson(std::string_view text, const std::string& name);

// The same for a file.
Json ReadJson(const std::filesystem::path& file);

// A value for a message: at most some 60 characters on one line.
std::string ShortJson(const Json& value);

}  // namespace assay
