// The tables of the first decoder, apart from the second one, which includes nothing of it.
#include "reference/bf16.h"
#include "reference/e8m0.h"
#include "reference/second_decoder.h"
#include "reference/small_float.h"

namespace assay {
namespace {

template <class Codec>
std::vector<double> TableOf() {
  std::vector<double> values;
  for (int code = 0; code < Codec::kCodes; ++code) values.push_back(Codec::Decode(code));
  return values;
}

}  // namespace

DecodeTables FirstTables() {
  DecodeTables tables{{"e2m1", TableOf<E2m1>()}, {"e2m3", TableOf<E2m3>()},
                      {"e3m2", TableOf<E3m2>()}, {"e4m3", TableOf<E4m3>()},
                      {"e5m2", TableOf<E5m2>()}, {"fp16", TableOf<Fp16>()}};
  for (int code = 0; code < 0x10000; ++code)
    tables["bf16"].push_back(Bf16ToFloat(static_cast<std::uint16_t>(code)));
  for (int code = 0; code < 256; ++code)
    tables["e8m0"].push_back(DecodeE8m0(static_cast<std::uint8_t>(code), CodePolicy::kStandard));
  return tables;
}

}  // namespace assay
