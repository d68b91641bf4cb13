// The one scratch block of atomic C4: ids, weights, FP32 accumulator.
#pragma once

#include "gpu/core/fault.h"
#include "reference/problem.h"

namespace assay {

inline constexpr int kAtomicRows = 4;

// Offsets in bytes. The accumulator begins at a multiple of 256.
struct AtomicScratch {
  Index ids = 0, weights, accumulator, bytes;
};

constexpr AtomicScratch AtomicScratchOf(const Problem& p) {
  constexpr Index kWord = 4, kAligned = 256;
  const Index list = kAtomicRows * Index{p.top_k} * kWord;
  const Index accumulator = (2 * list + kAligned - 1) / kAligned * kAligned;
  return {0, list, accumulator, accumulator + kAtomicRows * Index{p.hidden} * kWord};
}

// Throws UsageError that names what is needed and what is there.
void RequireAtomicScratch(const Problem& problem, Index have);

}  // namespace assay
