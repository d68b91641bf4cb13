// The shape of a generated layer, weighted to the edges where kernels go wrong.
#pragma once

#include <cstdint>

#include "fuzz/draw.h"
#include "fuzz/generate.h"

namespace assay {

// Sets hidden, inter, experts and top_k from the problem's formats and rows; dimensions are whole
// groups of every format in it. May lower rows of a many-row step to keep the work within bounds.
void DrawShape(Draw& draw, Distribution distribution, Problem& problem);

// Multiply-adds of the experts: rows * (top_k + shared) * 3 * hidden * inter.
std::int64_t ExpertWork(const Problem& problem);

// Columns that a format of the layer carries only together; every dimension is a multiple. 1: any.
int GroupOf(const Problem& problem);

}  // namespace assay
