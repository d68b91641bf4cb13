// Places a layer's tensors in an arena for one path: weights with their owner maps and ledgers,
// scratch, outputs. Experts that no admissible routing can choose share one block of poison.
#pragma once

#include <deque>
#include <map>

#include "gpu/dispatch/layer_tensors.h"
#include "gpu/run/arena.h"
#include "gpu/run/world.h"
#include "reference/layer_data.h"

namespace assay {

// Scales read, by (projection, expert); filled by the checked host executor.
using Ledger = std::deque<ScaleReads>;

struct PlaceOptions {
  const LayerData* layer = nullptr;
  int scratch_rows = 1;      // rows of expert scratch: the step's rows, or 1 where it is reused
  Ledger* ledger = nullptr;  // null: none kept
  bool groups_rows = false;  // scratch of the paths that group rows by expert
  bool accumulates = false;  // the one block of scratch of atomic C4
  Seat seat;                 // which experts this rank holds
};

inline std::size_t OutputSize(const Problem& p) { return std::size_t(p.rows) * p.hidden; }

// Fills `scratch`, an image of all that was placed after BeginScratch(), as before a run: poison,
// and an output that was never written. `output`: its place in the image.
void PoisonScratch(std::span<std::byte> scratch, Poison poison, std::span<std::byte> output);

// Writes the tensors' bytes where the arena has an image; the rest keeps its poison, except the
// output, which becomes 0xFFFF.
template <bool kChecked>
LayerTensors<kChecked> PlaceLayer(const PlaceOptions& options, Arena& arena);

}  // namespace assay
