// A second router, on another principle than router_rule.cc: repeated search for the best instead
// of sorting, groups kept by counting who is better, textbook formulas in long double instead of
// stable forms in double. It shares the description and nothing else.
#pragma once

#include "reference/router_rule.h"

namespace assay {

// As RouteRow, without bounds.
RoutedRow SecondRoute(const RouterRule& rule, const RouterTensors& tensors,
                      std::span<const double> logits);

}  // namespace assay
