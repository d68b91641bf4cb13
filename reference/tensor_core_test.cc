#include "reference/tensor_core.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <stdexcept>
#include <string>

#include "reference/bf16.h"
#include "reference/random.h"

namespace assay {
namespace {

TEST(TensorCore, SumsThatFitAreExact) {
  const std::vector<float> a{3, -2, 0.5f, 7}, b{4, 5, 2, -1};
  EXPECT_EQ(TensorCoreStep(kHopperBf16, a, b, 100.0f), 12 - 10 + 1 - 7 + 100);
  EXPECT_EQ(TensorCoreStep(kHopperBf16, a, b, 0.0f), -4);
  EXPECT_EQ(TensorCoreStep(kHopperBf16, {}, {}, 0.0f), 0);
}

// 2^0 and 2^-25: kept at F = 25. 2^-26: lost, also when two of them would make 2^-25.
TEST(TensorCore, AddendsAreTruncatedAtTwoToTheMinusFOfTheLargest) {
  const std::vector<float> ones{1, 1};
  const std::vector<float> kept{1, 0x1p-23f}, lost{0x1p-26f, 0x1p-26f};
  EXPECT_EQ(TensorCoreStep(kHopperBf16, ones, kept, 0), 1 + 0x1p-23f);
  EXPECT_EQ(TensorCoreStep(kHopperBf16, ones, lost, 1.0f), 1);
  const std::vector<float> cancelling{1, 0x1p-25f};
  EXPECT_EQ(TensorCoreStep(kHopperBf16, ones, cancelling, -1.0f), 0x1p-25f);
  EXPECT_EQ(TensorCoreStep(kHopperBf16, ones, lost, -1.0f), -1);  // toward zero
}

// A product of 1.5 and 1.5 counts with exponent 0, so 2^-25 beside it is kept; the number 2.25
// times one counts with exponent 1, and 2^-25 is lost.
TEST(TensorCore, TheExponentOfAProductIsTheSumOfItsFactorsExponents) {
  const std::vector<float> a{1.5f, 1, 1}, b{1.5f, 0x1p-25f, -2.25f};
  EXPECT_EQ(TensorCoreStep(kHopperBf16, a, b, 0), 0);
  const std::vector<float> c{1.5f, 1, -1.5f}, d{1.5f, 0x1p-25f, 1.5f};
  EXPECT_EQ(TensorCoreStep(kHopperBf16, c, d, 0), 0x1p-25f);
}

TEST(TensorCore, TheOutputIsTruncatedNotRounded) {
  const std::vector<float> a{1, 1}, b{1, 0x1p-24f};
  EXPECT_EQ(TensorCoreStep(kHopperBf16, a, b, 0), 1);
  const std::vector<float> three{1, 1, 1}, parts{1, 0x1p-24f, 0x1p-25f};
  EXPECT_EQ(TensorCoreStep(kHopperBf16, three, parts, 0), 1);  // three quarters of a unit
  EXPECT_EQ(TensorCoreStep(kHopperFp8, a, std::vector<float>{1, 0x1p-14f}, 0), 1);
  EXPECT_EQ(TensorCoreStep(kHopperFp8, a, std::vector<float>{1, 0x1p-13f}, 0), 1 + 0x1p-13f);
}

// An independent evaluation in integers of 2^-80: for exponents within 40 of each other 128 bits
// hold everything.
float ByWideIntegers(std::span<const float> a, std::span<const float> b, float c) {
  int largest = -1000;
  const auto exponent = [](float x) {
    return int(std::bit_cast<std::uint32_t>(x) >> 23 & 255) - 127;
  };
  const auto units = [](double x) { return static_cast<__int128>(std::ldexp(x, 80)); };
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, exponent(a[i]) + exponent(b[i]));
  largest = std::max(largest, exponent(c));
  const __int128 unit = __int128{1} << (80 + largest - 25);
  __int128 sum = units(c) / unit * unit;
  for (std::size_t i = 0; i < a.size(); ++i) sum += units(double{a[i]} * b[i]) / unit * unit;
  __int128 size = sum < 0 ? -sum : sum, bit = 1;
  while (size >> 24 >= bit) bit *= 2;
  size = size / bit * bit;
  return static_cast<float>((sum < 0 ? -1 : 1) * std::ldexp(static_cast<double>(size), -80));
}

TEST(TensorCore, AgreesWithWideIntegerArithmetic) {
  const RandomStream stream(5, 6);
  std::uint64_t at = 0;
  const auto draw = [&](int spread) {
    const double value = stream.Bell(at) * std::ldexp(1, -17 - int(stream.At(~at) % spread));
    ++at;
    return Bf16ToFloat(DoubleToBf16(value == 0 ? 1 : value));
  };
  for (int trial = 0; trial < 20000; ++trial) {
    std::vector<float> a, b;
    for (int i = 0; i < 16; ++i) {
      a.push_back(draw(12));
      b.push_back(draw(12));
    }
    const float c = draw(12);
    ASSERT_EQ(TensorCoreStep(kHopperBf16, a, b, c), ByWideIntegers(a, b, c)) << trial;
  }
}

// Tiles that an H200 computed: testdata/h200/README.md.
struct HardwareTiles {
  static constexpr int kTiles = 40;
  std::vector<std::uint16_t> a, b;
  std::vector<float> c, d;

  HardwareTiles() : a(kTiles * 256), b(kTiles * 128), c(kTiles * 128), d(kTiles * 128) {
    std::ifstream file(std::string(ASSAY_GOLDENS) + "/../h200/mma_m16n8k16_bf16.bin",
                       std::ios::binary);
    const auto read = [&](auto& values) {
      file.read(reinterpret_cast<char*>(values.data()),
                std::streamsize(values.size() * sizeof(values[0])));
    };
    read(a);
    read(b);
    read(c);
    read(d);
    if (!file) throw std::runtime_error("mma_m16n8k16_bf16.bin: cannot be read whole");
  }

  long Differing(const AccumulateModel& model) const {
    long differing = 0;
    for (int at = 0; at < kTiles * 128; ++at) {
      const int tile = at / 128, row = at / 8 % 16, column = at % 8;
      std::vector<float> left, right;
      for (int k = 0; k < 16; ++k) {
        left.push_back(Bf16ToFloat(a[tile * 256 + row * 16 + k]));
        right.push_back(Bf16ToFloat(b[tile * 128 + k * 8 + column]));
      }
      differing += TensorCoreStep(model, left, right, c[at]) != d[at];
    }
    return differing;
  }
};

TEST(TensorCore, ReproducesAnH200BitForBit) {
  const HardwareTiles tiles;
  EXPECT_EQ(tiles.Differing(kHopperBf16), 0);
  for (const int fraction_bits : {24, 26}) {  // and no neighbour of the model does
    AccumulateModel other = kHopperBf16;
    other.fraction_bits = fraction_bits;
    EXPECT_GT(tiles.Differing(other), 100);
  }
}

// Bounds of every model hold, and are not empty: the worst seen is above a hundredth of them.
TEST(TensorCore, SumsStayWithinTheirBounds) {
  AccumulateModel split = kHopperBf16;
  split.split_k = 3;
  for (const AccumulateModel& model :
       {kHopperBf16, kHopperFp8, kBlackwellFp8, kBlackwellFp4, split}) {
    double worst = 0;
    for (int trial = 0; trial < 2000; ++trial) {
      const RandomStream stream(trial, 3);
      const int size = 1 + static_cast<int>(stream.At(0) % 400);
      const bool positive = trial % 3 == 0;
      std::vector<float> a, b;
      SumSize sum{double(size)};
      double exact = 0;
      for (int i = 0; i < size; ++i) {
        a.push_back(static_cast<float>(RoundToBf16(stream.Bell(2 * i + 1) * 0x1p-16)));
        b.push_back(static_cast<float>(RoundToBf16(stream.Bell(2 * i + 2) * 0x1p-16)));
        if (positive) b.back() = std::copysign(b.back(), a.back());
        exact += double{a[i]} * b[i];
        sum.magnitude += std::fabs(double{a[i]} * b[i]);
      }
      double before = 0;  // as the panels do: runs of 32
      for (int first = 0; first < size; first += 32) {
        double run = 0, magnitude = 0;
        const int end = std::min(size, first + 32);
        for (int i = first; i < end; ++i) {
          run += double{a[i]} * b[i];
          magnitude += std::fabs(double{a[i]} * b[i]);
        }
        sum.partials += (end - first) * (std::fabs(before) + magnitude);
        before += run;
      }
      const double bound = SumBound(model, sum),
                   error = std::fabs(TensorCoreDot(model, a, b) - exact);
      ASSERT_LE(error, bound) << "F " << model.fraction_bits << " size " << size;
      worst = std::max(worst, error / bound);
    }
    EXPECT_GT(worst, 0.01) << model.fraction_bits;
  }
}

// The first part ends with a large number, the second begins with its negative: the sum in one
// chain is small all the way, each part's is not.
TEST(SumBound, SplittingAChainForgetsItsPartialSums) {
  AccumulateModel model = kHopperBf16;
  model.split_k = 2;
  const RandomStream stream(3, 8);
  std::vector<float> a(4096), ones(4096, 1.0f);
  for (std::size_t i = 0; i < a.size(); ++i)
    a[i] = static_cast<float>(RoundToBf16(stream.Bell(i) * 0x1p-37));
  a[2047] = 1;
  a[2048] = -1;
  double exact = 0;
  SumSize size{4096};
  for (const float x : a) {
    exact += x;
    size.magnitude += std::fabs(x);
    size.partials += std::fabs(exact);
  }
  const double error = std::fabs(TensorCoreDot(model, a, ones) - exact);
  EXPECT_LE(error, SumBound(model, size));
  AccumulateModel whole = model;
  whole.split_k = 1;
  EXPECT_GT(error, SumBound(whole, size));  // the bound of one chain does not hold
}

}  // namespace
}  // namespace assay
