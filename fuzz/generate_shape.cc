#include "fuzz/generate_shape.h"

#include <algorithm>
#include <limits>

#include "reference/formats.h"

namespace assay {

namespace {

// Multiples of the group up to 256 whose median is 128.
int SmallDimension(Draw& draw, int group) {
  const int steps = 96 / group;  // multiples on either side of 128, from 32 and up to 224 or 256
  if (steps == 0 || draw.Percent(20)) return 128;
  const int step = draw.Between(1, steps) * group;
  if (draw.Percent(50)) return 128 - step;
  return draw.Percent(15) ? 256 : 128 + step;
}

// Odd numbers of groups, one group, tiles of 8, 32 and 128 outputs cut in the middle, shards of
// real models (464, 352, 720), just past powers of two.
int EdgeDimension(Draw& draw, int group) {
  const int drawn = draw.Of<int>({{2, 16},  {3, 32},  {3, 48},  {3, 64},  {2, 80},  {3, 96},
                                  {2, 112}, {6, 128}, {4, 144}, {5, 160}, {3, 176}, {4, 192},
                                  {3, 208}, {4, 224}, {5, 256}, {3, 272}, {3, 288}, {3, 352},
                                  {2, 384}, {3, 464}, {2, 512}, {1, 528}, {2, 720}, {1, 1040}});
  return std::max(drawn / group * group, group);
}

int DrawExperts(Draw& draw, Distribution distribution) {
  if (distribution == Distribution::kSmall) {
    return draw.Of<int>({{1, 1}, {1, 2}, {2, 3}, {2, 5}, {5, 8}, {2, 12}, {2, 15}, {3, 16}});
  }
  return draw.Of<int>({{1, 1},
                       {1, 2},
                       {2, 3},
                       {4, 8},
                       {3, 16},
                       {3, 31},
                       {3, 32},
                       {3, 33},
                       {3, 60},
                       {3, 64},
                       {1, 128},
                       {1, 129}});
}

int DrawTopK(Draw& draw, Distribution distribution, int experts) {
  const int drawn = distribution == Distribution::kSmall
                        ? draw.Of<int>({{3, 1}, {4, 2}, {2, 3}, {2, 4}})
                        : draw.Of<int>({{2, 1}, {4, 2}, {2, 3}, {3, 4}, {1, 5}, {1, 6}, {2, 8}});
  return std::min(drawn, experts);
}

// Most cases are quick, a few are large: about a million multiply-adds on average.
std::int64_t WorkLimit(Draw& draw) {
  constexpr std::int64_t kMillion = 1'000'000;
  return kMillion * draw.Of<int>({{70, 2}, {25, 4}, {4, 12}, {1, 40}});
}

// Fewer slots first, then smaller matrices, always whole groups.
void Fit(Problem& p, std::int64_t limit, bool may_lower_rows) {
  const int group = std::max(GroupOf(p), 16);
  while (ExpertWork(p) > limit) {
    int& larger = p.hidden > p.inter ? p.hidden : p.inter;
    if (p.top_k > 2) {
      --p.top_k;
    } else if (may_lower_rows && p.rows > 4) {
      --p.rows;
    } else if (larger > group) {
      larger = std::max(larger / 2 / group * group, group);
    } else {
      return;
    }
  }
}

// A path of fixed rows keeps them; so does one that begins at 65.
bool RowsAreFree(const Problem& p) { return p.rows > 4 && p.rows <= 16; }

int WholeGroup(Format format) { return CannotCarry(format, 1).has_value() ? GroupSize(format) : 1; }

// A step of many rows would make small layers slow.
std::int64_t SmallLimit(const Problem& p) {
  return p.rows > 16 ? 4'000'000 : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

int GroupOf(const Problem& problem) {
  const int routed = WholeGroup(problem.format);
  return problem.shared ? std::max(routed, WholeGroup(*problem.shared)) : routed;
}

std::int64_t ExpertWork(const Problem& p) {
  const std::int64_t experts = p.top_k + (p.shared ? 1 : 0);
  return p.rows * experts * 3 * p.hidden * p.inter;
}

void DrawShape(Draw& draw, Distribution distribution, Problem& p) {
  const int group = std::max(GroupOf(p), 16);
  const bool small = distribution == Distribution::kSmall;
  p.hidden = small ? SmallDimension(draw, group) : EdgeDimension(draw, group);
  p.inter = small ? SmallDimension(draw, group) : EdgeDimension(draw, group);
  p.experts = DrawExperts(draw, distribution);
  p.top_k = DrawTopK(draw, distribution, p.experts);
  Fit(p, small ? SmallLimit(p) : WorkLimit(draw), RowsAreFree(p));
  if (GroupOf(p) == 1 && !small) {  // carries any dimension
    p.hidden += draw.Percent(50) ? draw.Between(1, 15) : 0;
    p.inter += draw.Percent(50) ? draw.Between(1, 15) : 0;
  }
}

}  // namespace assay
