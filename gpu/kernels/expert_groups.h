// Rows grouped by the expert that they go to, so that a kernel reads each expert's weights once for
// all of them. A counting sort on the device; the shared expert is the last group.
#pragma once

#include "gpu/kernels/expert_slots.h"

namespace assay {

// Up to so many rows fp8_grouped serves a step, above them prefill.
inline constexpr int kGroupedRows = 64;

// As many groups as experts can be chosen, and one for slots without an expert; those that no slot
// needs are empty and stand behind the others, before the shared one.
constexpr int GroupCount(const SlotGrid& slots, int experts) {
  return Least(experts + 1, slots.Routed()) + (slots.has_shared ? 1 : 0);
}

// Group g: slots order[begins[g]] .. order[begins[g + 1] - 1], all of expert experts_of[g].
template <bool kChecked>
struct ExpertGroups {
  View<const std::uint32_t, kChecked> begins;      // [groups + 1]
  View<const std::uint32_t, kChecked> experts_of;  // [groups]
  View<const std::uint32_t, kChecked> order;       // [slots]
};

// One block. Every expert's slots keep their order.
template <bool kChecked>
struct GroupRows {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kNobody = ~0u;

  struct Args {
    SlotGrid slots;
    int experts;
    View<const std::uint32_t, kChecked> ids;   // [tokens * top_k]
    View<std::uint32_t, kChecked> begins;      // [groups + 1]
    View<std::uint32_t, kChecked> experts_of;  // [groups]
    View<std::uint32_t, kChecked> order;       // [slots]
  };

  static LaunchShape Shape(const Args& args) {
    return {{1, 1, 1}, kThreads, args.experts * static_cast<int>(sizeof(std::uint32_t))};
  }

  constexpr void operator()(Context auto& context, const Args& args) const {
    const auto shared = context.template Shared<std::uint32_t>(args.experts);
    Tag tag;
    tag.name = "shared memory: slots of experts";
    tag.extent = static_cast<Index>(shared.size());
    const View<std::uint32_t, kChecked> places(shared.data(), tag);
    for (int e = context.Thread(); e < args.experts; e += kThreads)
      places.Store(context, e, SlotsOf(context, args, e, [](int) {}));
    context.Barrier();
    if (context.Thread() == 0) Scan(context, args, places);
    context.Barrier();
    for (int e = context.Thread(); e < args.experts; e += kThreads) {
      std::uint32_t place = places.Load(context, e);
      if (place == kNobody) continue;
      SlotsOf(context, args, e, [&](int slot) { args.order.Store(context, place++, slot); });
    }
    for (int slot = args.slots.Routed() + context.Thread(); slot < args.slots.Count();
         slot += kThreads)
      args.order.Store(context, slot, slot);
  }

 private:
  // How many slots chose the expert; `visit` is called for each.
  template <class Visit>
  static constexpr std::uint32_t SlotsOf(Context auto& context, const Args& args, int expert,
                                         const Visit& visit) {
    std::uint32_t count = 0;
    for (int slot = 0; slot < args.slots.Routed(); ++slot) {
      if (args.ids.Load(context, slot) != static_cast<std::uint32_t>(expert)) continue;
      visit(slot);
      ++count;
    }
    return count;
  }

  // Counts become first places, experts with slots become groups.
  static constexpr void Scan(Context auto& context, const Args& args,
                             const View<std::uint32_t, kChecked>& places) {
    std::uint32_t begin = 0;
    int group = 0;
    for (int e = 0; e < args.experts; ++e) {
      const std::uint32_t count = places.Load(context, e);
      places.Store(context, e, count == 0 ? kNobody : begin);
      if (count == 0) continue;
      args.begins.Store(context, group, begin);
      args.experts_of.Store(context, group++, static_cast<std::uint32_t>(e));
      begin += count;
    }
    if (begin < static_cast<std::uint32_t>(args.slots.Routed())) {
      args.begins.Store(context, group, begin);
      args.experts_of.Store(context, group++, kNoExpert);
      for (int slot = 0; slot < args.slots.Routed(); ++slot)
        if (args.ids.Load(context, slot) == kNoExpert) args.order.Store(context, begin++, slot);
    }
    const int groups = GroupCount(args.slots, args.experts);
    for (; group < groups; ++group) {
      args.begins.Store(context, group, static_cast<std::uint32_t>(args.slots.Routed()));
      args.experts_of.Store(context, group, 0);
    }
    args.begins.Store(context, groups, static_cast<std::uint32_t>(args.slots.Count()));
  }
};

}  // namespace assay
