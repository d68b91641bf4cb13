#include "reference/layer_data.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "reference/bf16.h"
#include "reference/e2m1.h"
#include "reference/e4m3.h"
#include "reference/e8m0.h"
#include "reference/error.h"
#include "reference/formats.h"
#include "reference/panels.h"
#include "reference/random.h"
#include "reference/router_expected.h"
#include "reference/routing.h"

namespace assay {
namespace {

class Fnv1a {
 public:
  template <class Bytes>
  void Add(const Bytes& values) {
    for (auto value : values)
      for (std::size_t i = 0; i < sizeof value; ++i) {
        unsigned char bytes[sizeof value];
        std::memcpy(bytes, &value, sizeof value);
        hash_ = (hash_ ^ bytes[i]) * 0x100000001B3ull;
      }
  }
  void Add(const PackedMatrix& m) {
    Add(m.payload);
    Add(m.scales);
    Add(m.zeros);
    Add(std::vector<float>{m.global_scale});
  }
  void Add(const ExpertWeights& e) {
    Add(e.gate);
    Add(e.up);
    Add(e.down);
    Add(e.gate_bias);
    Add(e.up_bias);
    Add(e.down_bias);
  }
  std::uint64_t Value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xCBF29CE484222325ull;
};

std::uint64_t HashOf(const LayerData& layer) {
  Fnv1a hash;
  hash.Add(layer.input);
  hash.Add(layer.router_weight);
  hash.Add(layer.router_bias);
  hash.Add(layer.shared_gate);
  hash.Add(layer.logit_bias);
  hash.Add(layer.pre_norm_scale);
  hash.Add(layer.hash_table);
  hash.Add(layer.token_ids);
  if (layer.packed_router) hash.Add(*layer.packed_router);
  for (const auto& [id, expert] : layer.experts) hash.Add(expert);
  if (layer.shared) hash.Add(*layer.shared);
  return hash.Value();
}

Problem Small(Format format, std::uint64_t seed) {
  Problem p;
  p.rows = 3;
  p.hidden = 64;
  p.inter = 96;
  p.experts = 6;
  p.format = format;
  p.shared = format;
  p.router = RouterKind::kSigmoidBias;
  p.seed = seed;
  return p;
}

// Pins the bytes: a case line means the same data on every machine and in every release.
TEST(BuildLayer, GivesTheSameBytesEverywhere) {
  EXPECT_EQ(HashOf(BuildLayer(Small(Format::kNvfp4, 7))), 297921265089030375ull);
  EXPECT_EQ(HashOf(BuildLayer(Small(Format::kMxfp4, 7))), 16268493053696280631ull);
  EXPECT_EQ(HashOf(BuildLayer(Small(Format::kBf16, 7))), 3401469968847710280ull);
}

TEST(BuildLayer, GivesTheSameBytesForEveryFormatAndFeature) {
  const std::pair<Format, std::uint64_t> formats[] = {{Format::kFp8Block, 10353094152800684922ull},
                                                      {Format::kFp8Channel, 6822120660896205158ull},
                                                      {Format::kMxfp8, 17873718005832069191ull},
                                                      {Format::kInt4G32, 2917634465924287106ull}};
  for (const auto& [format, hash] : formats) EXPECT_EQ(HashOf(BuildLayer(Small(format, 7))), hash);
  Problem p = Small(Format::kMxfp4, 7);
  p.router = RouterKind::kHash;
  p.pre_norm = p.router_bias = p.expert_bias = true;
  p.gate_format = Format::kNvfp4;
  EXPECT_EQ(HashOf(BuildLayer(p)), 17421824651513082406ull);
  p = Small(Format::kNvfp4, 7);
  p.data = DataDraw::kDistinct;
  EXPECT_EQ(HashOf(BuildLayer(p)), 6678869322303358892ull);
}

TEST(BuildLayer, OtherSeedsGiveOtherBytes) {
  std::set<std::uint64_t> hashes;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    hashes.insert(HashOf(BuildLayer(Small(Format::kNvfp4, seed))));
  EXPECT_EQ(hashes.size(), 20u);
}

TEST(BuildLayer, BuildsJustTheExpertsThatMayBeChosen) {
  Problem p = Small(Format::kMxfp4, 1);
  p.experts = 64;
  const LayerData layer = BuildLayer(p);
  std::set<int> may, built;
  for (const auto& row : ExpectRouter(layer).may) may.insert(row.begin(), row.end());
  for (const auto& [id, expert] : layer.experts) built.insert(id);
  EXPECT_EQ(built, may);
  EXPECT_LT(built.size(), 20u);
}

TEST(BuildLayer, MatricesAreTheSameAloneAndInTheLayer) {
  const Problem p = Small(Format::kNvfp4, 3);
  const LayerData layer = BuildLayer(p);
  const auto& [id, expert] = *layer.experts.begin();
  EXPECT_EQ(BuildMatrix(p, Projection::kUp, id).payload, expert.up.payload);
  EXPECT_EQ(BuildMatrix(p, Projection::kDown, -1).scales, layer.shared->down.scales);
}

TEST(BuildLayer, NamesWhatItCannotBuild) {
  const auto message = [](const Problem& p) -> std::string {
    try {
      BuildLayer(p);
      return "built";
    } catch (const UnsupportedProblem& error) {
      return error.what();
    }
  };
  Problem p;
  p.groups = 2;
  EXPECT_EQ(message(p), "groups=2: only router=grouped_sigmoid_bias keeps groups");
  p = {};
  p.zero_experts = 4;
  EXPECT_EQ(message(p), "zero_experts=4: identity experts need router=softmax_bias");
  p = {};
  p.format = Format::kInt4G32;
  p.inter = 32 * 5;
  p.hidden = 36 * 32 + 4;
  EXPECT_EQ(message(p), "k_dim=1156: int4_g32 needs a multiple of its group, 32");
  p = {};
  p.format = Format::kMxfp4;
  p.inter = 48;
  EXPECT_EQ(message(p), "k_dim=48: mxfp4 needs a multiple of its group, 32");
  p = {};
  p.top_k = 9;
  EXPECT_THROW(BuildLayer(p), UsageError);
}

// A scale read for a neighbouring group or row must change the number.
TEST(BuildMatrix, NeighbouringScalesDiffer) {
  for (const Format format : {Format::kNvfp4, Format::kMxfp4}) {
    Problem p = Small(format, 11);
    p.hidden = 128;
    const PackedMatrix m = BuildMatrix(p, Projection::kGate, 0);
    const int groups = m.columns / GroupSize(format);
    std::set<int> codes(m.scales.begin(), m.scales.end());
    EXPECT_GE(codes.size(), 4u);
    for (int row = 0; row < m.rows; ++row)
      for (int group = 1; group < groups; ++group) {
        EXPECT_NE(m.scales[row * groups + group], m.scales[row * groups + group - 1]);
        if (row > 0) {
          EXPECT_NE(m.scales[row * groups + group], m.scales[(row - 1) * groups + group]);
        }
      }
  }
}

TEST(BuildMatrix, DistinctScalesAreWrongByPowersOfTwoForEveryNeighbour) {
  for (const Format format : {Format::kNvfp4, Format::kMxfp4, Format::kMxfp8}) {
    Problem p = Small(format, 4);
    p.data = DataDraw::kDistinct;
    p.hidden = 256;
    const PackedMatrix m = BuildMatrix(p, Projection::kGate, 0),
                       n = BuildMatrix(p, Projection::kGate, 1);
    const int groups = m.columns / GroupSize(format);
    for (int row = 1; row < m.rows; ++row)
      for (int group = 1; group < groups; ++group) {
        const std::uint8_t here = m.scales[row * groups + group];
        EXPECT_NE(here, m.scales[row * groups + group - 1]);
        EXPECT_NE(here, m.scales[(row - 1) * groups + group]);
        EXPECT_NE(here, n.scales[row * groups + group]);
      }
  }
}

TEST(BuildMatrix, TheGlobalScaleIsNoPowerOfTwo) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const float scale = BuildMatrix(Small(Format::kNvfp4, seed), Projection::kDown, 2).global_scale;
    int exponent = 0;
    EXPECT_GT(scale, 0);
    EXPECT_NE(std::frexp(scale, &exponent), 0.5f);
  }
}

TEST(BuildMatrix, CodesFollowTheGaussian) {
  Problem p = Small(Format::kNvfp4, 5);
  p.hidden = 256;
  p.inter = 256;
  const PackedMatrix m = BuildMatrix(p, Projection::kGate, 1);
  std::vector<double> counts(16);
  for (const std::uint8_t byte : m.payload) {
    ++counts[byte & 15];
    ++counts[byte >> 4];
  }
  const int expected[] = {11, 20, 20, 17, 22, 19, 14, 5};
  const double total = 2.0 * m.payload.size();
  for (int code = 0; code < 16; ++code) {
    const double share = expected[code & 7] / 256.0;
    // Five standard deviations of a binomial count, at most 16 codes: one in 10^5 seeds by chance,
    // and the seed is fixed.
    EXPECT_NEAR(counts[code], share * total, 5 * std::sqrt(total * share * (1 - share))) << code;
  }
}

RC_GTEST_PROP(Transpose, IsAnInvolution, ()) {
  Problem p = Small(*rc::gen::element(Format::kNvfp4, Format::kMxfp4, Format::kBf16), 1);
  p.hidden = 32 * *rc::gen::inRange(1, 5);
  p.inter = 32 * *rc::gen::inRange(1, 5);
  const PackedMatrix m = BuildMatrix(p, Projection::kDown, 0), t = Transpose(m),
                     back = Transpose(t);
  RC_ASSERT(t.transposed && !back.transposed);
  RC_ASSERT(back.payload == m.payload && back.scales == m.scales);
  RC_ASSERT(back.global_scale == m.global_scale && t.rows == m.rows && t.columns == m.columns);
}

// The layer's placement finds, in either packing, the payload byte and the scale byte from which
// the decoder makes the weight.
RC_GTEST_PROP(Placement, FindsTheBytesOfEveryWeight, ()) {
  const Format format = *rc::gen::element(Format::kNvfp4, Format::kMxfp4);
  Problem p = Small(format, *rc::gen::inRange(0, 100));
  const PackedMatrix m = BuildMatrix(p, Projection::kUp, 0), t = Transpose(m);
  const WeightAt at{*rc::gen::inRange(0, m.rows), *rc::gen::inRange(0, m.columns)};
  const auto payload = [&](const PackedMatrix& x) {
    return x.payload.at(PlaceUnits(x.transposed, x.rows, x.columns, 1).UnitOf(at));
  };
  const auto scale = [&](const PackedMatrix& x) {
    return x.scales.at(PlaceUnits(x.transposed, x.rows, x.columns, GroupShift(format)).UnitOf(at));
  };
  RC_ASSERT(payload(m) == payload(t));
  RC_ASSERT(scale(m) == scale(t));
  std::vector<double> row(m.columns), exact(m.columns);
  DecodeRow(m, CodePolicy::kStandard, at.row, row.data(), exact.data());
  const double code = kE2m1Values[at.column % 2 == 0 ? payload(m) & 15 : payload(m) >> 4];
  const float factor = format == Format::kNvfp4 ? kE4m3Values[scale(m)] * m.global_scale
                                                : DecodeE8m0(scale(m), CodePolicy::kStandard);
  RC_ASSERT(row[at.column] == static_cast<float>(code * factor));
}

TEST(Draws, TiesMakeEqualScoresAtTheBoundary) {
  int tied = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Problem p = Small(Format::kMxfp4, seed);
    p.experts = 16;
    p.logits = LogitDraw::kTies;
    const LayerData layer = BuildLayer(p);
    const std::vector<double> logits = ExpectRouter(layer).logits;
    for (int row = 0; row < p.rows; ++row) {
      auto scores = SelectionScores(p, std::span(logits).subspan(row * 16, 16), layer.router_bias);
      std::sort(scores.rbegin(), scores.rend());
      tied += scores[p.top_k - 1] == scores[p.top_k];
    }
  }
  EXPECT_GE(tied, 54);  // of 60 rows
}

TEST(Draws, SteeredRoutingsChooseWhatTheySay) {
  Problem p = Small(Format::kMxfp4, 2);
  p.experts = 16;
  p.routing = RoutingDraw::kLast;
  for (const auto& may : ExpectRouter(BuildLayer(p)).may)
    EXPECT_EQ(may, (std::vector<int>{14, 15}));
  p.routing = RoutingDraw::kDisjoint;
  std::set<int> seen;
  for (const auto& may : ExpectRouter(BuildLayer(p)).may)
    for (const int id : may) EXPECT_TRUE(seen.insert(id).second) << id;
}

TEST(Draws, IdenticalRowsAreIdentical) {
  Problem p = Small(Format::kMxfp4, 2);
  p.routing = RoutingDraw::kIdentical;
  const LayerData layer = BuildLayer(p);
  for (int i = 0; i < p.hidden; ++i) EXPECT_EQ(layer.input[i], layer.input[2 * p.hidden + i]);
}

TEST(Random, IntegerSqrtIsTheFloor) {
  for (std::uint64_t n : {0ull, 1ull, 3ull, 4ull, 99ull, 100ull, (1ull << 60) - 1, 1ull << 60}) {
    const std::uint64_t root = IntegerSqrt(n);
    EXPECT_TRUE(root * root <= n && (root + 1) * (root + 1) > n) << n;
  }
}

}  // namespace
}  // namespace assay
