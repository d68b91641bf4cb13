#include "gpu/run/arena.h"

namespace assay {
namespace {

std::uint64_t Mix(std::uint64_t z) {  // splitmix64
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

void FillRandom(std::span<std::byte> bytes) {
  std::uint64_t counter = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    const std::uint64_t word = Mix(++counter * 0x9E3779B97F4A7C15u);
    std::memcpy(bytes.data() + at, &word, std::min<std::size_t>(8, bytes.size() - at));
  }
}

}  // namespace

void FillPoison(std::span<std::byte> bytes, Poison poison) {
  if (poison == Poison::kRandom) return FillRandom(bytes);
  std::memset(bytes.data(), poison == Poison::kOnes ? 0xFF : 0x00, bytes.size());
}

}  // namespace assay
