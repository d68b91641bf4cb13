#include "reference/problem.h"

#include <gtest/gtest.h>

#include <set>

#include "reference/formats.h"
#include "reference/tokens.h"

namespace assay {
namespace {

std::string RuleOf(const Problem& problem) { return Impossible(problem).value_or("possible"); }

TEST(Impossible, AcceptsTheDefaultProblem) { EXPECT_EQ(RuleOf({}), "possible"); }

TEST(Impossible, NamesTheValueAndTheRule) {
  Problem p;
  p.top_k = 9;
  EXPECT_EQ(RuleOf(p), "top_k=9: must lie in 1..8, the number of experts");
  p = {};
  p.experts = 0;
  EXPECT_EQ(RuleOf(p), "experts=0: must lie in 1..4096");
  p = {};
  p.rows = 1025;
  EXPECT_EQ(RuleOf(p), "rows=1025: must lie in 1..1024");
  p = {};
  p.groups = 3;
  EXPECT_EQ(RuleOf(p), "groups=3: must divide experts=8");
}

TEST(Impossible, RefusesNumbersThatAreNotFinite) {
  Problem p;
  p.scale = 1.0 / 0.0;
  EXPECT_NE(RuleOf(p), "possible");
  p = {};
  p.limit = -1;
  EXPECT_NE(RuleOf(p), "possible");
}

template <class Enum>
void ExpectTokensNameEnumerators() {
  std::set<std::string_view> seen;
  for (const std::string_view token : Tokens<Enum>()) {
    const auto value = FromToken<Enum>(token);
    ASSERT_TRUE(value.has_value()) << token;
    EXPECT_EQ(Token(*value), token);
    EXPECT_TRUE(seen.insert(token).second) << token;
  }
  EXPECT_FALSE(FromToken<Enum>("").has_value());
  EXPECT_FALSE(FromToken<Enum>("no_such_word").has_value());
}

TEST(Tokens, AndEnumeratorsAreInverse) {
  ExpectTokensNameEnumerators<Format>();
  ExpectTokensNameEnumerators<Layout>();
  ExpectTokensNameEnumerators<RouterKind>();
  ExpectTokensNameEnumerators<Activation>();
  ExpectTokensNameEnumerators<SharedGate>();
  ExpectTokensNameEnumerators<Lora>();
  ExpectTokensNameEnumerators<EpMap>();
  ExpectTokensNameEnumerators<RoutingDraw>();
  ExpectTokensNameEnumerators<DataDraw>();
  ExpectTokensNameEnumerators<LogitDraw>();
  ExpectTokensNameEnumerators<CodePolicy>();
}

TEST(Tokens, TheLastEnumeratorHasAWord) {
  EXPECT_EQ(Token(Format::kBf16), "bf16");
  EXPECT_EQ(Token(Layout::kLean), "lean");
  EXPECT_EQ(Token(RouterKind::kSigmoidTop1), "sigmoid_top1");
  EXPECT_EQ(Token(Activation::kRelu2), "relu2");
  EXPECT_EQ(Token(Lora::kRefuse), "refuse");
  EXPECT_EQ(Token(RoutingDraw::kLast), "last");
  EXPECT_EQ(Token(DataDraw::kZero), "zero");
  EXPECT_EQ(Token(LogitDraw::kWide), "wide");
  EXPECT_EQ(Token(CodePolicy::kStandard), "standard");
}

TEST(Formats, Fp4NeedsWholeGroups) {
  EXPECT_FALSE(CannotCarry(Format::kNvfp4, 48));
  EXPECT_EQ(CannotCarry(Format::kMxfp4, 48), "k_dim=48: mxfp4 needs a multiple of its group, 32");
  EXPECT_FALSE(CannotCarry(Format::kBf16, 7));
  EXPECT_FALSE(CannotCarry(Format::kFp8Block, 7));
}

}  // namespace
}  // namespace assay
