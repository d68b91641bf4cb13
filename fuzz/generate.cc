#include "fuzz/generate.h"

#include <algorithm>
#include <optional>

#include "fuzz/draw.h"
#include "fuzz/generate_shape.h"

namespace assay {

namespace {

// Seven of eight cases go round over these cells, so that every one gets its share of any campaign;
// the eighth is drawn freely and shows the refusals.
struct Cell {
  PathId path;
  Format format;
  Layout layout;
  RouterKind router;
  std::optional<Format> shared;
};

// Cells that the path hands to another are left to the free draw.
bool RunsItself(PathId path, Format format, Layout layout) {
  Problem p;
  p.rows = path == PathId::kSingle ? 1 : path == PathId::kK2 ? 2 : path == PathId::kKn ? 4 : 3;
  p.format = format;
  p.layout = layout;
  return Decide(path, p).kind == Decision::Kind::kRuns;
}

void AddCells(PathId path, Format format, Layout layout, std::vector<Cell>& cells) {
  if (!RunsItself(path, format, layout)) return;
  for (const RouterKind router : {RouterKind::kSoftmax, RouterKind::kSigmoidBias}) {
    cells.push_back({path, format, layout, router, std::nullopt});
    const Format shared = format == Format::kBf16 ? Format::kBf16 : Format::kNvfp4;
    cells.push_back({path, format, layout, router, shared});
  }
}

// The small distribution has at most three rows, the ladder of kn begins at four.
std::vector<Cell> MakeCells(bool small) {
  std::vector<PathId> paths = {PathId::kSingle, PathId::kK2, PathId::kK3, PathId::kBatched};
  if (!small) paths.push_back(PathId::kKn);
  std::vector<Cell> cells;
  for (const PathId path : paths) {
    for (const Layout layout : {Layout::kRowMajor, Layout::kTransposed, Layout::kHybrid}) {
      AddCells(path, Format::kNvfp4, layout, cells);
    }
    AddCells(path, Format::kMxfp4, Layout::kTransposed, cells);
    AddCells(path, Format::kBf16, Layout::kRowMajor, cells);
  }
  return cells;
}

const std::vector<Cell>& Cells(bool small) {
  static const std::vector<Cell> few = MakeCells(true), all = MakeCells(false);
  return small ? few : all;
}

Cell FreeCell(Draw& draw) {
  Cell cell;
  cell.path = draw.Of<PathId>({{4, PathId::kSingle},
                               {6, PathId::kK3},
                               {6, PathId::kBatched},
                               {4, PathId::kK2},
                               {4, PathId::kKn},
                               {1, PathId::kAtomicC4},
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
  cell.router = draw.Of<RouterKind>({{45, RouterKind::kSoftmax},
                                     {45, RouterKind::kSigmoidBias},
                                     {4, RouterKind::kTopkSoftmax},
                                     {3, RouterKind::kSqrtsoftplusBias},
                                     {3, RouterKind::kHash}});
  cell.shared = draw.Of<std::optional<Format>>(
      {{45, std::nullopt}, {40, Format::kNvfp4}, {5, Format::kMxfp4}, {10, Format::kBf16}});
  return cell;
}

// Rows that the path serves, or (rarely, where `free`) one that it refuses.
int DrawRows(Draw& draw, PathId path, bool free, int most) {
  if (free && draw.Percent(10)) return draw.Between(1, std::min(most, 5));
  switch (path) {
    case PathId::kSingle:
      return 1;
    case PathId::kK2:
      return 2;
    case PathId::kK3:
      return 3;
    case PathId::kKn:
      return std::min(most, draw.Of<int>({{3, 4}, {2, 5}, {1, 7}, {1, 8}}));
    case PathId::kAtomicC4:
      return std::min(most, 4);
    default:
      return std::min(most, draw.Of<int>({{3, 1}, {3, 2}, {4, 3}, {2, 4}, {2, 5}, {1, 7}, {1, 8}}));
  }
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
  const bool crowded = p.routing == RoutingDraw::kDisjoint && p.experts < p.rows * p.top_k;
  if (p.routing == RoutingDraw::kIdentical) return;
  if (tied || crowded) p.routing = RoutingDraw::kUniform;
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
  const auto& cells = Cells(small);
  const Cell cell = free ? FreeCell(draw) : cells[(number / 8 * 7 + number % 8) % cells.size()];
  Case c;
  Problem& p = c.problem;
  c.path = cell.path;
  p.format = cell.format;
  p.layout = cell.layout;
  p.router = cell.router;
  p.shared = cell.shared;
  if (p.shared && draw.Percent(40)) p.shared_gate = SharedGate::kNone;
  p.rows = DrawRows(draw, c.path, free, small ? 3 : 8);
  DrawShape(draw, distribution, p);
  DrawRouting(draw, p);
  DrawData(draw, p);
  MakeRoutingPossible(p);
  if (free && !small && draw.Percent(25)) DrawOddity(draw, p);
  return c;
}

}  // namespace assay
