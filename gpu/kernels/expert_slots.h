// What the fused expert kernels share: block y below tokens * top_k serves a routed slot, from
// there on the shared expert of token y - tokens * top_k. A slot without an expert gets an absent
// matrix, whose products are zeros.
#pragma once

#include "gpu/kernels/formats.h"
#include "reference/problem.h"

namespace assay {

template <class Word, bool kChecked>
struct ExpertTables {
  View<const WeightMatrix<Word, kChecked>, kChecked> routed;  // [experts]
  WeightMatrix<Word, kChecked> shared;                        // empty without a shared expert
};

struct SlotGrid {
  int tokens, top_k;
  bool has_shared;

  constexpr int Routed() const { return tokens * top_k; }
  constexpr int Count() const { return tokens * (top_k + (has_shared ? 1 : 0)); }
  constexpr bool IsShared(int slot) const { return slot >= Routed(); }
  constexpr int Token(int slot) const { return IsShared(slot) ? slot - Routed() : slot / top_k; }
};

// Calls `dot` with the format and the matrix that serve the slot.
template <class Routed, class Shared, class Word, bool kChecked, class Dot>
constexpr auto ForSlot(Context auto& context, const SlotGrid& grid, int slot,
                       const View<const std::uint32_t, kChecked>& ids,
                       const ExpertTables<Word, kChecked>& tables, const Dot& dot) {
  if (grid.IsShared(slot)) return dot(Shared{}, tables.shared);
  const std::uint32_t expert = ids.Load(context, slot);
  if (expert == kNoExpert) return dot(Routed{}, WeightMatrix<Word, kChecked>::Absent());
  auto matrix = tables.routed.Load(context, static_cast<Index>(expert));
  // A null pointer in the table means another rank; a null shared expert must never be asked for.
  matrix.absent = matrix.payload.Data() == nullptr;
  return dot(Routed{}, matrix);
}

}  // namespace assay
