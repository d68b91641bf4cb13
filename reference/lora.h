// LoRA adapters of a layer as data. The fold has three BF16 roundings: row = bf16(base + scale *
// bf16(bf16(x A^T) B^T)).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace assay {

// Adapters of lower rank are padded with zeros; the kernels take no higher one.
inline constexpr int kMaxLoraRank = 8;

enum class LoraSite { kRouter, kGate, kUp, kDown };
inline constexpr int kLoraSites = 4;

// BF16 bits, a [rank, inputs] and b [outputs, rank]; both empty: the adapter leaves the site alone.
struct LoraPair {
  std::vector<std::uint16_t> a, b;
};

struct LoraAdapterData {
  float scale = 1;
  int rank = kMaxLoraRank;
  std::array<LoraPair, kLoraSites> pairs;  // by LoraSite; of experts: one for all routed ones

  const LoraPair& At(LoraSite site) const { return pairs[static_cast<int>(site)]; }
};

// Which row has which adapter.
struct LoraLayer {
  std::vector<LoraAdapterData> adapters;
  std::vector<std::int32_t> row_adapter;  // [rows]; below zero: none

  // Null: the row passes unchanged.
  const LoraAdapterData* AdapterOf(int row) const {
    if (row_adapter.empty() || row_adapter[std::size_t(row)] < 0) return nullptr;
    return &adapters[std::size_t(row_adapter[std::size_t(row)])];
  }
};

}  // namespace assay
