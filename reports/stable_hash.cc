#include "reports/stable_hash.h"

namespace assay {

void StableHash::Add(std::string_view bytes) {
  for (const char c : bytes) {
    state_ ^= static_cast<unsigned char>(c);
    state_ *= 0x100000001b3u;  // FNV prime
  }
}

void StableHash::AddField(std::string_view bytes) {
  Add(std::to_string(bytes.size()));
  Add(":");
  Add(bytes);
}

std::string StableHash::Hex() const {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex(16, '0');
  for (int i = 0; i < 16; ++i) hex[i] = kDigits[(state_ >> (60 - 4 * i)) & 15];
  return hex;
}

}  // namespace assay
