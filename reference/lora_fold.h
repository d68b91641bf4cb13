// The LoRA fold in interval form, with its three BF16 roundings, and in real arithmetic.
#pragma once

#include <vector>

#include "reference/expected.h"
#include "reference/lora.h"

namespace assay {

// Values as stored, and before any rounding.
struct LoraValues {
  std::vector<Interval> stored;
  std::vector<double> exact;
};

// Folds the pair of `site` into `base` [outputs], given what the site multiplies, x [inputs].
// Inner products run over lanes where `order` says so. A null adapter or pair: nothing.
void FoldLoraIntervals(const LoraAdapterData* adapter, LoraSite site, const LoraValues& x,
                       Accumulation order, LoraValues& base);

}  // namespace assay
