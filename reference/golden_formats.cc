// Tables of number formats: the value of every code, the code of many values.
#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "reference/bf16.h"
#include "reference/e8m0.h"
#include "reference/error.h"
#include "reference/golden_parts.h"
#include "reference/safetensors.h"
#include "reference/small_float.h"

namespace assay {
namespace {

// What the goldens know of a format, by the names of ml_dtypes.
struct Codec {
  const char* name;
  std::function<double(int)> decode;
  std::function<int(float)> encode, encode_saturated;
  bool encodes_nan = true;
  std::size_t codes = 256;
};

template <class Format>
Codec CodecOf(const char* name, bool encodes_nan, std::size_t codes) {
  return {name,
          Format::Decode,
          [](float x) { return Format::Encode(x); },
          [](float x) { return Format::EncodeSaturated(x); },
          encodes_nan,
          codes};
}

const std::vector<Codec>& Codecs() {
  static const std::vector<Codec> codecs{
      CodecOf<E2m1>("float4_e2m1fn", false, 16),
      CodecOf<E2m3>("float6_e2m3fn", false, 64),
      CodecOf<E3m2>("float6_e3m2fn", false, 64),
      CodecOf<E4m3>("float8_e4m3fn", true, 256),
      CodecOf<E5m2>("float8_e5m2", true, 256),
      {"float8_e8m0fnu", [](int code) { return DecodeE8m0(code, CodePolicy::kStandard); },
       EncodeE8m0, EncodeE8m0Saturated}};
  return codecs;
}

const Codec* FindCodec(const std::string& name) {
  for (const Codec& codec : Codecs())
    if (codec.name == name) return &codec;
  return nullptr;
}

GoldenResult NotBuilt(std::string name, const std::string& format) {
  GoldenResult result;
  result.name = std::move(name);
  result.outcome = GoldenResult::kSkipped;
  result.reason = "format " + format + ": not built yet";
  return result;
}

// JSON has no word for NaN and infinity; the tables write them as strings.
double JsonNumber(const Json& value) {
  if (value.is_number()) return value.get<double>();
  const auto word = value.get<std::string>();
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return word == "-inf" ? -infinity : infinity;
}

// Zeros of different sign differ, all NaN are equal.
bool SameValue(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Left out, as the README of the goldens says: NaN for formats without a NaN, and FP32 subnormals
// between 2^-127 and 2^-126 for E8M0, where both libraries round wrongly.
bool IsJudged(const Codec& codec, float input) {
  if (std::isnan(input)) return codec.encodes_nan;
  return std::string_view(codec.name) != "float8_e8m0fnu" ||
         !(input > 0x1p-127f && input < 0x1p-126f);
}

// Codes are equal, or both mean NaN ("any NaN code will do").
bool SameCode(const Codec& codec, int a, int b) {
  return a == b || (std::isnan(codec.decode(a)) && std::isnan(codec.decode(b)));
}

// An empty or short table would compare nothing.
void RequireEntries(const std::string& what, std::size_t got, std::size_t wanted) {
  if (got != wanted || got == 0)
    throw UsageError(what + ": " + std::to_string(got) + " entries, " + std::to_string(wanted) +
                     " are needed");
}

double DifferingCodes(const Codec& codec, const std::function<int(float)>& encode,
                      const std::vector<double>& inputs, std::span<const std::uint8_t> codes) {
  double differing = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto input = static_cast<float>(inputs[i]);
    differing += IsJudged(codec, input) && !SameCode(codec, encode(input), codes[i]);
  }
  return differing;
}

}  // namespace

std::vector<GoldenResult> DecodeGoldens(const Json& formats) {
  std::vector<GoldenResult> results;
  for (const auto& [name, table] : formats.at("decode").items()) {
    const Codec* codec = FindCodec(name);
    if (codec == nullptr) {
      results.push_back(NotBuilt("decode/" + name, name));
      continue;
    }
    RequireEntries("decode/" + name + " values", table.at("values").size(), codec->codes);
    double differing = 0;
    int code = 0;
    for (const Json& value : table.at("values"))
      differing += !SameValue(codec->decode(code++), JsonNumber(value));
    results.push_back(ExactResult("decode/" + name, {{"values", differing}}));
  }
  return results;
}

std::vector<GoldenResult> EncodeGoldens(const std::filesystem::path& path) {
  const Safetensors file = Safetensors::Open(path);
  const std::vector<double> inputs = file.Doubles("input");
  std::vector<GoldenResult> results;
  for (const Codec& codec : Codecs()) {
    const std::string name = codec.name;
    if (!file.Has(name + ".code")) continue;
    const auto& plain = file.Get(name + ".code", "U8").bytes;
    const auto& saturated = file.Get(name + ".code_saturated", "U8").bytes;
    RequireEntries(name + ".code", plain.size(), inputs.size());
    RequireEntries(name + ".code_saturated", saturated.size(), inputs.size());
    results.push_back(ExactResult(
        "encode/" + name,
        {{"code", DifferingCodes(codec, codec.encode, inputs, plain)},
         {"code_saturated", DifferingCodes(codec, codec.encode_saturated, inputs, saturated)}}));
  }
  return results;
}

std::vector<GoldenResult> Bf16Goldens(const std::filesystem::path& path) {
  const Safetensors file = Safetensors::Open(path);
  const std::vector<double> inputs = file.Doubles("input");
  const std::vector<double> expected = file.Doubles("bfloat16");
  RequireEntries("bfloat16", expected.size(), inputs.size());
  double from_float = 0, from_double = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto input = static_cast<float>(inputs[i]);
    from_float += !SameValue(Bf16ToFloat(FloatToBf16(input)), expected[i]);
    from_double += !SameValue(RoundToBf16(inputs[i]), expected[i]);
  }
  return {
      ExactResult("encode/bfloat16", {{"from float", from_float}, {"from double", from_double}})};
}

}  // namespace assay
