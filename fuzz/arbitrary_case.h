// For tests: any case that the grammar can write, sensible or not.
#pragma once

#include <rapidcheck.h>

#include <cmath>

#include "fuzz/names.h"

namespace assay {

template <typename E>
rc::Gen<E> AnyOf() {
  const auto count = static_cast<int>(Words<E>().size());
  return rc::gen::map(rc::gen::inRange(0, count), [](int i) { return static_cast<E>(i); });
}

inline rc::Gen<double> AnyReal() {
  return rc::gen::map(rc::gen::arbitrary<double>(), [](double x) {
    return std::isfinite(x) ? std::fmod(std::abs(x), 1e6) : 1.0;
  });
}

inline void DrawShape(Problem& p) {
  p.rows = *rc::gen::inRange(1, 1025);
  p.hidden = *rc::gen::inRange(1, 131073);
  p.inter = *rc::gen::inRange(1, 131073);
  p.top_k = *rc::gen::inRange(1, 65);
  p.groups = *rc::gen::inRange(1, 5);
  p.groups_kept = *rc::gen::inRange(1, p.groups + 1);
  p.experts = p.groups * *rc::gen::inRange(64, 1025);  // kept groups hold top_k experts
  p.shared_inter = *rc::gen::inRange(0, 131073);
  p.zero_experts = *rc::gen::inRange(0, 4097);
  p.ep = *rc::gen::inRange(1, 1025);
}

inline void DrawChoices(Problem& p) {
  p.format = *AnyOf<Format>();
  p.layout = *AnyOf<Layout>();
  p.router = *AnyOf<RouterKind>();
  p.gate_format = *AnyOf<Format>();
  p.activation = *AnyOf<Activation>();
  if (*rc::gen::arbitrary<bool>()) p.shared = *AnyOf<Format>();
  p.shared_gate = *AnyOf<SharedGate>();
  p.lora = *AnyOf<Lora>();
  p.ep_map = *AnyOf<EpMap>();
  p.routing = *AnyOf<RoutingDraw>();
  p.data = *AnyOf<DataDraw>();
  p.logits = *AnyOf<LogitDraw>();
  p.codes = *AnyOf<CodePolicy>();
}

inline rc::Gen<Case> ArbitraryCase() {
  return rc::gen::exec([] {
    Case c;
    c.path = *AnyOf<PathId>();
    c.checks = *AnyOf<Checks>();
    c.device = *AnyOf<Device>();
    DrawShape(c.problem);
    DrawChoices(c.problem);
    for (bool Problem::*flag :
         {&Problem::norm, &Problem::router_bias, &Problem::pre_norm, &Problem::fp32_gate,
          &Problem::pre_expert_norm, &Problem::expert_bias, &Problem::graph}) {
      c.problem.*flag = *rc::gen::arbitrary<bool>();
    }
    c.problem.scale = *AnyReal();
    c.problem.limit = *AnyReal();
    c.problem.seed = *rc::gen::arbitrary<std::uint64_t>();
    return c;
  });
}

}  // namespace assay
