// FNV-1a of 64 bits: the same digits on every machine and in every version, so that fingerprints of
// old records still match. Not for anything that an attacker may choose.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay {

class StableHash {
 public:
  void Add(std::string_view bytes);
  // The length goes first, so that ("ab", "c") and ("a", "bc") differ.
  void AddField(std::string_view bytes);
  std::uint64_t Value() const { return state_; }
  std::string Hex() const;  // 16 lower-case digits

 private:
  std::uint64_t state_ = 0xcbf29ce484222325u;  // FNV offset basis
};

}  // namespace assay
