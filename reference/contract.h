// What a path declares about its arithmetic, as far as the bounds depend on it.
#pragma once

namespace assay {

// What is known of the order in which a path sums the products of an output.
enum class Accumulation {
  kAnyOrder,      // nothing; fused or not
  kChainOrLanes,  // one fmaf chain in the order of the inputs, or 32 lanes of fmaf chains over
                  // steps of at most 16 inputs dealt in turn, joined by a tree: all kernels of gpu/
};

}  // namespace assay
