// A bit-exact software model of tensor-core accumulation, and its bounds.
#pragma once

#include <span>

#include "reference/accumulation.h"
#include "reference/rounding_contract.h"

namespace assay {

// addend + sum of a[i] * b[i] by one instruction: products exact and not normalised (exponent
// e_a + e_b), all addends aligned to the largest exponent E and truncated at 2^(E -
// fraction_bits), summed exactly, the sum truncated to output_bits fraction bits (at 23: FP32).
// Finite inputs whose products are exact in double. `a` holds at most 64 elements.
float TensorCoreStep(const AccumulateModel& model, std::span<const float> a,
                     std::span<const float> b, float addend);

// A whole inner product, block after block in the order of the inputs, with the model's promotion
// and split (each part a run of consecutive inputs).
float TensorCoreDot(const AccumulateModel& model, std::span<const float> a,
                    std::span<const float> b);

// |model - exact| for a sum of such size, in any order of the products within the model.
double SumBound(const AccumulateModel& model, const SumSize& sum);

}  // namespace assay
