#include "fuzz/generate.h"

#include <algorithm>
#include <optional>

#include "fuzz/cells.h"
#include "fuzz/draw.h"
#include "fuzz/generate_shape.h"
#include "reference/formats.h"

namespace assay {

namespace {

// The eighth case of eight is drawn freely and shows the refusals.
struct Drawn {
  PathId path;
  Format format;
  Layout layout;
  std::optional<Format> shared;
  Variant variant;
};

// The others go round over the served cells; a cell's turns alternate between its plain routers and
// its features, and each of these goes round too, from another start in each cell.
Drawn RoundRobin(std::uint64_t turn) {
  const std::vector<Cell>& cells = ServedCells();
  const Cell& cell = cells[turn % cells.size()];
  const std::uint64_t round = turn / cells.size();
  const bool both = !cell.plain.empty() && !cell.featured.empty();
  const bool featured = both ? round % 2 == 1 : cell.plain.empty();
  const auto& variants = featured ? cell.featured : cell.plain;
  const std::uint64_t at = (both ? round / 2 : round) + turn % cells.size();
  return {cell.path, cell.format, cell.layout, cell.shared, variants[at % variants.size()]};
}

Drawn FreeCell(Draw& draw) {
  Drawn cell;
  cell.path = draw.Of<PathId>({{4, PathId::kSingle},
                               {6, PathId::kK3},
                               {6, PathId::kBatched},
                               {4, PathId::kK2},
                               {4, PathId::kKn},
                               {2, PathId::kAtomicC4},
                               {1, PathId::kFp8Grouped},
                               {1, PathId::kPrefill}});
  cell.format = draw.Of<Format>({{43, Format::kNvfp4},
                                 {43, Format::kMxfp4},
                                 {5, Format::kBf16},
                                 {3, Format::kFp8Block},
                                 {3, Format::kMxfp8},
                                 {3, Format::kInt4G128}});
  cell.layout = draw.Of<Layout>(
      {{3, Layout::kRowMajor}, {4, Layout::kTransposed}, {2, Layout::kHybrid}, {1, Layout::kLean}});
  cell.variant.router = draw.Of<RouterKind>({{45, RouterKind::kSoftmax},
                                             {45, RouterKind::kSigmoidBias},
                                             {4, RouterKind::kTopkSoftmax},
                                             {3, RouterKind::kSqrtsoftplusBias},
                                             {3, RouterKind::kHash}});
  cell.shared = draw.Of<std::optional<Format>>(
      {{45, std::nullopt}, {40, Format::kNvfp4}, {5, Format::kMxfp4}, {10, Format::kBf16}});
  return cell;
}

int CeilTo(int value, int unit) { return (value + unit - 1) / unit * unit; }

bool RunsAnyRows(PathId path) { return path == PathId::kBatched; }

// Rows that the path serves, or (rarely, where `free`) some that it may refuse. A step of many rows
// has the small distribution's narrow layers.
int DrawRows(Draw& draw, PathId path, bool free, bool small) {
  if (free && draw.Percent(10)) return draw.Between(1, small ? 3 : 5);
  const std::vector<int>& rows = RowsOf(path);
  const int drawn = rows[draw.Between(0, static_cast<int>(rows.size()) - 1)];
  return small && RunsAnyRows(path) ? std::min(drawn, 3) : drawn;
}

// The shared expert of a mixed layer has a pass of its own, of any width.
void DrawSharedInter(Draw& draw, Problem& p) {
  if (p.shared != Format::kBf16 || !IsFp4(p.format) || !draw.Percent(50)) return;
  p.shared_inter = draw.Between(1, p.inter + 40);
}

void DrawRouting(Draw& draw, Problem& p) {
  p.norm = draw.Percent(75);
  // The plain softmax router has no factor.
  if (p.router != RouterKind::kSoftmax) {
    p.scale = draw.Of<double>({{4, 1.0}, {2, 2.5}, {1, 2.827}, {1, 0.5}});
  }
  p.routing = draw.Of<RoutingDraw>({{6, RoutingDraw::kUniform},
                                    {1, RoutingDraw::kDisjoint},
                                    {1, RoutingDraw::kZipf},
                                    {1, RoutingDraw::kIdentical},
                                    {1, RoutingDraw::kOneHot},
                                    {1, RoutingDraw::kEmpty},
                                    {1, RoutingDraw::kLast}});
  p.logits = draw.Of<LogitDraw>({{5, LogitDraw::kPlain},
                                 {4, LogitDraw::kTies},
                                 {1, LogitDraw::kNearTies},
                                 {1, LogitDraw::kSaturated},
                                 {1, LogitDraw::kWide}});
}

// Routings that steer the tokens by channels of the input cannot be had with tied logits, and a
// disjoint one needs an expert for each slot.
void MakeRoutingPossible(Problem& p) {
  const bool tied = p.logits == LogitDraw::kTies || p.logits == LogitDraw::kNearTies;
  if (p.router == RouterKind::kSigmoidTop1) p.top_k = 1;
  const bool crowded = p.routing == RoutingDraw::kDisjoint && p.experts < p.rows * p.top_k;
  if (p.routing == RoutingDraw::kIdentical) return;
  if (tied || crowded) p.routing = RoutingDraw::kUniform;
}

// What was drawn on top of a served cell may not take it out of the cell: dimensions that break a
// path's own rule become whole groups, routings and logits that the reference lacks become plain.
void KeepServed(Case& c) {
  Problem& p = c.problem;
  if (!RunsItself(c.path, p)) {
    const int group = std::max(GroupOf(p), 16);
    p.hidden = CeilTo(p.hidden, group);
    p.inter = CeilTo(p.inter, group);
  }
  if (!CanBuild(p)) p.routing = RoutingDraw::kUniform;
  if (!CanBuild(p)) p.logits = LogitDraw::kPlain;
}

void DrawData(Draw& draw, Problem& p) {
  p.data = draw.Of<DataDraw>({{8, DataDraw::kGauss},
                              {1, DataDraw::kHeavy},
                              {1, DataDraw::kExtreme},
                              {1, DataDraw::kOutlier},
                              {1, DataDraw::kPow2},
                              {1, DataDraw::kInteger},
                              {1, DataDraw::kHalf}});
  p.seed = draw(rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << 32));
}

// One thing that today's paths refuse by name; each is a guard that must speak.
void DrawOddity(Draw& draw, Problem& p) {
  switch (draw.Between(0, 7)) {
    case 0:
      p.hidden += draw.Between(1, 15);  // no whole group
      break;
    case 1:
      p.inter += draw.Between(1, 15);
      break;
    case 2:
      p.shared_inter = 2 * p.inter;
      break;
    case 3:
      p.fp32_gate = true;
      break;
    case 4:
      p.activation = Activation::kGeluTanh;
      break;
    case 5:
      p.experts = 48;
      p.top_k = 33;  // one more than the top-k kernels' lanes
      break;
    case 6:
      p.lora = Lora::kFold;
      break;
    default:
      p.zero_experts = 4;
  }
}

}  // namespace

Case GenerateCase(Distribution distribution, std::uint64_t seed, std::uint64_t number) {
  Draw draw(rc::Random(rc::Random::Key{seed, number, static_cast<std::uint64_t>(distribution), 1}));
  const bool small = distribution == Distribution::kSmall, free = number % 8 == 7;
  const Drawn cell = free ? FreeCell(draw) : RoundRobin(number / 8 * 7 + number % 8);
  Case c;
  Problem& p = c.problem;
  c.path = cell.path;
  p.format = cell.format;
  p.layout = cell.layout;
  p.shared = cell.shared;
  p.router = cell.variant.router;
  if (p.shared && draw.Percent(40)) p.shared_gate = SharedGate::kNone;
  p.rows = DrawRows(draw, c.path, free, small);
  DrawShape(draw, distribution, p);
  DrawSharedInter(draw, p);
  DrawRouting(draw, p);
  DrawData(draw, p);
  if (cell.variant.feature != nullptr) cell.variant.feature->set(p);
  MakeRoutingPossible(p);
  if (free && !small && draw.Percent(25)) DrawOddity(draw, p);
  if (!free) KeepServed(c);
  return c;
}

}  // namespace assay
