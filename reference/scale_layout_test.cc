#include "reference/scale_layout.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace assay {
namespace {

const ScaleOrder kOrders[] = {ScaleOrder::kRowMajor, ScaleOrder::kTransposed,
                              ScaleOrder::kTiles128x4, ScaleOrder::kMarlin};

// Every scale has a unit of its own, every unit one owner or none, and each finds the other.
RC_GTEST_PROP(ScaleLayout, UnitsAndOwnersAreInverse, ()) {
  const ScaleOrder order = *rc::gen::elementOf(std::vector<ScaleOrder>(kOrders, kOrders + 4));
  const auto rows =
      *rc::gen::container<std::vector<int>>(*rc::gen::inRange(1, 4), rc::gen::inRange(0, 300));
  const int groups = *rc::gen::inRange(1, 12);
  const ScaleLayout layout(order, rows, groups, *rc::gen::element(1, 8, 128));
  std::set<std::int64_t> units;
  for (int e = 0; e < static_cast<int>(rows.size()); ++e)
    for (int row = 0; row < rows[e]; ++row)
      for (int group = 0; group < groups; ++group) {
        const ScaleAt at{e, row, group};
        const std::int64_t unit = layout.UnitOf(at);
        RC_ASSERT(unit >= 0 && unit < layout.Units());
        RC_ASSERT(layout.OwnerOf(unit) == at);
        units.insert(unit);
      }
  std::size_t owned = 0;
  for (std::int64_t unit = 0; unit < layout.Units(); ++unit)
    owned += layout.OwnerOf(unit).has_value();
  RC_ASSERT(units.size() == owned);
  RC_ASSERT(!layout.OwnerOf(-1) && !layout.OwnerOf(layout.Units()));
}

// Offsets of NVIDIA's documented block-scaling tile.
TEST(ScaleLayout, TilesOf128By4LieAsTheMatrixUnitsWantThem) {
  const ScaleLayout layout(ScaleOrder::kTiles128x4, {200}, 6);
  EXPECT_EQ(layout.Units(), 4 * 512);
  EXPECT_EQ(layout.UnitOf({0, 0, 0}), 0);
  EXPECT_EQ(layout.UnitOf({0, 0, 3}), 3);
  EXPECT_EQ(layout.UnitOf({0, 1, 0}), 16);
  EXPECT_EQ(layout.UnitOf({0, 32, 0}), 4);
  EXPECT_EQ(layout.UnitOf({0, 33, 2}), 22);
  EXPECT_EQ(layout.UnitOf({0, 0, 4}), 512);
  EXPECT_EQ(layout.UnitOf({0, 128, 0}), 1024);
}

TEST(ScaleLayout, PaddingBelongsToNobody) {
  const ScaleLayout layout(ScaleOrder::kTiles128x4, {90}, 5);
  EXPECT_EQ(layout.OwnerOf(512 + 1), std::nullopt);          // group 5 of row 0
  EXPECT_EQ(layout.OwnerOf(26 * 16 + 2 * 4), std::nullopt);  // row 90
  EXPECT_EQ(layout.OwnerOf(25 * 16 + 2 * 4), (ScaleAt{0, 89, 0}));
}

TEST(ScaleLayout, MarlinGivesAThreadItsEightRowsInARow) {
  const ScaleLayout layout(ScaleOrder::kMarlin, {64}, 2);
  for (int j = 0; j < 8; ++j) EXPECT_EQ(layout.UnitOf({0, 3 + 8 * j, 1}), 64 + 3 * 8 + j);
}

TEST(ScaleLayout, EveryExpertStartsAtItsOwnPadding) {
  const ScaleLayout layout(ScaleOrder::kRowMajor, {3, 0, 130}, 2, 128);
  EXPECT_EQ(layout.UnitOf({0, 2, 1}), 5);
  EXPECT_EQ(layout.OwnerOf(6), std::nullopt);
  EXPECT_EQ(layout.UnitOf({2, 0, 0}), 256);
  EXPECT_EQ(layout.Units(), 256 + 512);
}

TEST(ScaleLayout, ArrangingMovesEveryScaleAndFillsThePadding) {
  const int rows[] = {2, 3};
  const std::vector<std::uint8_t> scales{1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  const ScaleLayout layout(ScaleOrder::kMarlin, {2, 3}, 2);
  const auto arranged = Arrange(layout, rows, 2, 1, scales, 0xEE);
  int padding = 0;
  for (std::int64_t unit = 0; unit < layout.Units(); ++unit) {
    const auto owner = layout.OwnerOf(unit);
    padding += !owner;
    const int expected =
        !owner ? 0xEE : 1 + (owner->expert == 0 ? 0 : 4) + owner->row * 2 + owner->group;
    EXPECT_EQ(arranged[unit], expected);
  }
  EXPECT_EQ(padding, 2 * 128 - 10);
}

}  // namespace
}  // namespace assay
