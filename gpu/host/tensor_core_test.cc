// The host's mma against the reference's model of Hopper, which an H200 has confirmed.
#include "gpu/host/tensor_core.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "gpu/host/host_executor.h"
#include "reference/random.h"
#include "reference/tensor_core.h"

namespace assay {
namespace {

// A BF16 number of any sign whose exponent spreads over `octaves`.
float Bf16Number(std::uint64_t word, int octaves) {
  const auto fraction = static_cast<std::uint32_t>(word & 0x7F);
  const auto exponent = static_cast<std::uint32_t>(127 - octaves / 2 + (word >> 8) % octaves);
  const auto sign = static_cast<std::uint32_t>(word >> 40 & 1);
  return std::bit_cast<float>(sign << 31 | exponent << 23 | fraction << 16);
}

struct Tile {
  float a[16][16] = {}, b[16][8] = {}, c[16][8] = {};

  std::uint32_t PairA(int row, int k) const { return Bits(a[row][k]) | Bits(a[row][k + 1]) << 16; }
  std::uint32_t PairB(int k, int column) const {
    return Bits(b[k][column]) | Bits(b[k + 1][column]) << 16;
  }
  static std::uint32_t Bits(float x) { return std::bit_cast<std::uint32_t>(x) >> 16; }
};

Tile RandomTile(std::uint64_t seed, int octaves) {
  const RandomStream stream{seed, 1};
  std::uint64_t at = 0;
  Tile tile;
  for (auto& row : tile.a)
    for (float& x : row) x = Bf16Number(stream.At(at++), octaves);
  for (auto& row : tile.b)
    for (float& x : row)
      x = stream.At(at) % 7 == 0 ? 0.0f : Bf16Number(stream.At(at), octaves), ++at;
  for (auto& row : tile.c)
    for (float& x : row) x = Bf16Number(stream.At(at++), octaves) * 1.00390637f;
  return tile;
}

// The fragments of the PTX manual, written down lane by lane.
void Multiply(Tile& tile) {
  std::uint32_t a[32][4], b[32][2];
  float c[32][4];
  std::array<MmaLane, 32> lanes;
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    a[lane][0] = tile.PairA(g, 2 * t);
    a[lane][1] = tile.PairA(g + 8, 2 * t);
    a[lane][2] = tile.PairA(g, 2 * t + 8);
    a[lane][3] = tile.PairA(g + 8, 2 * t + 8);
    b[lane][0] = tile.PairB(2 * t, g);
    b[lane][1] = tile.PairB(2 * t + 8, g);
    for (int i = 0; i < 4; ++i) c[lane][i] = tile.c[g + i / 2 * 8][2 * t + i % 2];
    lanes[lane] = {a[lane], b[lane], c[lane]};
  }
  MultiplyAccumulate(lanes);
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) tile.c[lane / 4 + i / 2 * 8][2 * (lane % 4) + i % 2] = c[lane][i];
}

TEST(HostMma, GivesTheBitsOfHoppersModel) {
  for (const int octaves : {1, 4, 12, 30, 60})
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      Tile tile = RandomTile(seed, octaves);
      const Tile before = tile;
      Multiply(tile);
      for (int row = 0; row < 16; ++row)
        for (int column = 0; column < 8; ++column) {
          std::vector<float> a(before.a[row], before.a[row] + 16), b;
          for (int k = 0; k < 16; ++k) b.push_back(before.b[k][column]);
          ASSERT_EQ(tile.c[row][column], TensorCoreStep(kHopperBf16, a, b, before.c[row][column]))
              << "octaves " << octaves << " seed " << seed;
        }
    }
}

TEST(HostMma, KeepsInfinitiesAndNan) {
  Tile tile;
  tile.a[0][3] = std::numeric_limits<float>::infinity();
  tile.b[3][0] = 2.0f;
  tile.b[3][1] = -2.0f;
  Multiply(tile);
  EXPECT_EQ(tile.c[0][0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(tile.c[0][1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(tile.c[0][2]));  // infinity times 0
  EXPECT_EQ(tile.c[1][0], 0.0f);
}

TEST(HostMma, SubnormalSumsAreCutOffOnTheirGrid) {
  Tile tile;
  tile.a[0][0] = 0x1p-100f;
  tile.b[0][0] = 0x1.8p-49f;  // 1.5 units of the last place
  Multiply(tile);
  EXPECT_EQ(tile.c[0][0], 0x1p-149f);
}

// Every lane multiplies by the unit matrix: A comes back.
struct MmaByUnit {
  static constexpr int kThreads = 32;
  struct Args {
    float (*out)[4];
  };
  static LaunchShape Shape(const Args&) { return {{1, 1, 1}, kThreads}; }
  void operator()(Context auto& context, const Args& args) const {
    const int lane = context.Thread(), g = lane / 4, t = lane % 4;
    const auto element = [](int row, int column) {  // row + column / 16, exact in BF16 below 8
      return std::bit_cast<std::uint32_t>(static_cast<float>(row % 8) + column * 0x1p-4f) >> 16;
    };
    std::uint32_t a[4], b[2] = {0, 0};
    for (int i = 0; i < 4; ++i) {
      const int row = g + i % 2 * 8, column = 2 * t + i / 2 * 8;
      a[i] = element(row, column) | element(row, column + 1) << 16;
    }
    if (g == 2 * t) b[0] = 0x3F80;
    if (g == 2 * t + 1) b[0] = 0x3F80u << 16;
    float c[4] = {};
    context.Mma(c, a, b);
    for (int i = 0; i < 4; ++i) args.out[lane][i] = c[i];
  }
};

TEST(HostMma, IsACollectiveOfTheWarp) {
  float out[32][4];
  HostExecutor executor(1);
  const LaunchReport report = executor.Launch(MmaByUnit{}, {out});
  EXPECT_TRUE(report.sync_faults.empty());
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(out[lane][i],
                static_cast<float>(lane / 4 + 0) + (2 * (lane % 4) + i % 2) * 0x1p-4f);
}

}  // namespace
}  // namespace assay
