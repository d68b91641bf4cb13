#include "fuzz/case.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "fuzz/arbitrary_case.h"
#include "fuzz/case_fields.h"
#include "fuzz/models.h"

namespace assay {
namespace {

constexpr char kHead[] = "path=k3 format=mxfp4 layout=transposed rows=3";

// The message of the UsageError that the line gets; "" if it gets none.
std::string ErrorOf(const std::string& line) {
  try {
    ParseCase(line);
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

std::string ErrorOfWord(const std::string& word) { return ErrorOf(kHead + (" " + word)); }

TEST(ParseCase, ReadsTheExampleOfTheDocumentation) {
  const Case c = ParseCase(
      "path=k3 format=mxfp4 layout=transposed rows=3 hidden=512 inter=256 experts=16 top_k=4 "
      "router=sigmoid_bias shared=nvfp4 seed=7");
  EXPECT_EQ(c.path, PathId::kK3);
  EXPECT_EQ(c.problem.format, Format::kMxfp4);
  EXPECT_EQ(c.problem.layout, Layout::kTransposed);
  EXPECT_EQ(c.problem.rows, 3);
  EXPECT_EQ(c.problem.hidden, 512);
  EXPECT_EQ(c.problem.inter, 256);
  EXPECT_EQ(c.problem.experts, 16);
  EXPECT_EQ(c.problem.top_k, 4);
  EXPECT_EQ(c.problem.router, RouterKind::kSigmoidBias);
  EXPECT_EQ(c.problem.shared, Format::kNvfp4);
  EXPECT_EQ(c.problem.seed, 7u);
}

TEST(ToLine, PrintsFourFieldsAlwaysAndLeavesDefaultsOut) {
  EXPECT_EQ(ToLine(ParseCase(kHead)), kHead);
  EXPECT_EQ(ToLine(ParseCase("seed=0 rows=3 hidden=256 layout=transposed format=mxfp4 path=k3")),
            kHead);
}

TEST(ToLine, PrintsTheShortestNumberThatReadsBack) {
  const std::string line = std::string(kHead) + " scale=2.827 limit=0.1";
  EXPECT_EQ(ToLine(ParseCase(line)), line);
  EXPECT_EQ(ToLine(ParseCase(std::string(kHead) + " scale=2.50 limit=1e1")),
            std::string(kHead) + " scale=2.5 limit=10");
}

TEST(ParseCase, TakesBlanksAndLineEndsAsSeparators) {
  EXPECT_EQ(ToLine(ParseCase("\tpath=k3  format=mxfp4 layout=transposed rows=3\r\n")), kHead);
}

TEST(ParseCase, NamesAnUnknownFieldAndTheNearest) {
  EXPECT_EQ(
      ErrorOfWord("hiden=256"),
      "case field hiden: no such field, the nearest is hidden; `assay list fields` prints all");
}

TEST(ParseCase, RefusesAFieldGivenTwice) {
  EXPECT_EQ(ErrorOfWord("rows=4"), "case field rows=4: given twice; keep one");
}

TEST(ParseCase, NamesTheValueAndTheDomain) {
  EXPECT_EQ(ErrorOfWord("router=softmx"),
            "case field router=softmx: must be softmax sigmoid_bias sqrtsoftplus_bias softmax_bias "
            "hash grouped_sigmoid_bias topk_softmax sigmoid_top1; correct the value, `assay list "
            "fields` explains it");
  EXPECT_EQ(
      ErrorOfWord("experts=0"),
      "case field experts=0: must be 1..4096; correct the value, `assay list fields` explains "
      "it");
}

TEST(ParseCase, NamesAMissingField) {
  EXPECT_EQ(ErrorOf("path=k3 format=mxfp4 rows=3"),
            "case field layout: missing, every case needs it; add layout= one of row_major "
            "transposed hybrid lean");
  EXPECT_NE(ErrorOf(""), "");
}

TEST(ParseCase, RefusesMoreChoicesThanExperts) {
  const std::string error = ErrorOfWord("experts=2 top_k=3");
  EXPECT_EQ(error.rfind("impossible case: top_k=3: ", 0), 0u) << error;
}

TEST(ParseCase, RefusesMalformedNumbers) {
  for (const char* word : {"hidden=",
                           "hidden=abc",
                           "hidden=1x",
                           "hidden=+1",
                           "hidden=1e2",
                           "hidden=0x10",
                           "hidden=-5",
                           "hidden=99999999999999999999",
                           "hidden=131073",
                           "seed=-1",
                           "seed=18446744073709551616",
                           "scale=nan",
                           "scale=inf",
                           "scale=1e999",
                           "scale=-1",
                           "scale=1,5",
                           "limit=",
                           "norm=1",
                           "shared_inter=0",
                           "top_k=0",
                           "rows2=1",
                           "=5",
                           "hidden",
                           "==",
                           "hidden==3"}) {
    EXPECT_NE(ErrorOfWord(word), "") << word;
  }
}

TEST(ParseCase, AnswersHostileTextWithOneReadableLine) {
  using namespace std::string_literals;
  for (const std::string& word :
       {"hid\0den=1"s, "hidden=1\0"s, "\xff\xfe=1"s,
        "h\xc3\xaf"
        "dden=1"s,
        "\x1b[2J=1"s, std::string(100'000, 'x'), std::string(3000, 'x') + "=1",
        "hidden=" + std::string(3000, '9'), "hidden=256\vinter=128"s}) {
    const std::string error = ErrorOfWord(word);
    EXPECT_NE(error, "");
    EXPECT_LT(error.size(), 400u);
    for (const char c : error) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << error;
  }
}

RC_GTEST_PROP(CaseLine, ReadsBackAsTheSameCase, ()) {
  const Case c = *ArbitraryCase();
  RC_ASSERT(ParseCase(ToLine(c)) == c);
}

RC_GTEST_PROP(CaseLine, IsCanonicalWhateverTheOrderOfTheFields, ()) {
  const Case c = *ArbitraryCase();
  std::vector<std::string> words;
  for (const CaseField& field : CaseFieldTable()) {
    if (field.info.name != "shared_inter" || c.problem.shared_inter > 0) {
      words.push_back(field.info.name + "=" + field.print(c));  // defaults too
    }
  }
  std::string line;
  while (!words.empty()) {
    const auto at = words.begin() + *rc::gen::inRange<std::size_t>(0, words.size());
    line += *at + " ";
    words.erase(at);
  }
  RC_ASSERT(ToLine(ParseCase(line)) == ToLine(c));
}

// Every text either is a case, with a canonical line that reads back, or a UsageError of one line.
void ExpectCaseOrOneLine(const std::string& text) {
  try {
    const std::string line = ToLine(ParseCase(text));
    RC_ASSERT(ToLine(ParseCase(line)) == line);
  } catch (const UsageError& error) {
    RC_ASSERT(std::string(error.what()).find('\n') == std::string::npos);
  }
}

RC_GTEST_PROP(CaseLine, SurvivesRandomText, (const std::string& text)) {
  ExpectCaseOrOneLine(text);
}

// Damaged lines reach deeper than random text.
RC_GTEST_PROP(CaseLine, SurvivesADamagedLine, (char byte)) {
  std::string line = ToLine(*ArbitraryCase());
  line[*rc::gen::inRange<std::size_t>(0, line.size())] = byte;
  ExpectCaseOrOneLine(line);
}

TEST(CaseFields, DescribesEveryFieldAndTheModel) {
  const auto fields = CaseFields();
  EXPECT_EQ(fields.size(), CaseFieldTable().size() + 1);
  for (const FieldInfo& field : fields) {
    EXPECT_FALSE(field.domain.empty() || field.default_value.empty() || field.meaning.empty())
        << field.name;
  }
}

TEST(Model, SetsTheFieldsOfItsLayerAndPrintsThem) {
  EXPECT_EQ(
      ToLine(
          ParseCase("path=k3 format=nvfp4 layout=transposed rows=3 model=qwen3-30b-a3b inter=96")),
      "path=k3 format=nvfp4 layout=transposed rows=3 hidden=2048 inter=96 experts=128 top_k=8");
  EXPECT_EQ(ToLine(ParseCase("path=k3 format=nvfp4 layout=transposed rows=3 model=deepseek-v3")),
            "path=k3 format=nvfp4 layout=transposed rows=3 hidden=7168 inter=2048 experts=256 "
            "top_k=8 router=grouped_sigmoid_bias scale=2.5 groups=8 groups_kept=4 shared=nvfp4 "
            "shared_inter=2048 shared_gate=none");
}

TEST(Model, KnowsTheMixedLayer) {
  const Case c = ParseCase("path=k3 format=nvfp4 layout=transposed rows=3 model=laguna-xs");
  EXPECT_EQ(c.problem.shared, Format::kBf16);
}

TEST(Model, NamesTheNearestOfAnUnknownOne) {
  EXPECT_EQ(ErrorOfWord("model=deepseek-v4"),
            "case field model=deepseek-v4: no such model, the nearest is deepseek-v3; `assay list "
            "models` prints all");
}

TEST(Model, IsRefusedWithItsLineWhenAFeatureHasNoField) {
  EXPECT_EQ(ErrorOfWord("model=step-3.7-flash")
                .rfind("case field model=step-3.7-flash: its swiglu_limit_after is described by no "
                       "case field yet; the layer without it is: hidden=4096 inter=1280 "
                       "experts=288 top_k=8 router=sigmoid_bias norm=on",
                       0),
            0u)
      << ErrorOfWord("model=step-3.7-flash");
}

TEST(Model, GptOssHasItsBiasesAndItsLimit) {
  const Case c = ParseCase("path=k3 format=mxfp4 layout=transposed rows=3 model=gpt-oss-20b");
  EXPECT_TRUE(c.problem.expert_bias && c.problem.router_bias);
  EXPECT_EQ(c.problem.limit, 7);
}

TEST(Model, DoesNotOverrideAFieldSilently) {
  EXPECT_EQ(
      ErrorOfWord("hidden=512 model=qwen3-30b-a3b"),
      "case field hidden: stands before model=qwen3-30b-a3b, which sets it too; write it after "
      "the model to override");
}

TEST(Model, EveryNameParsesOrSaysWhichFeatureIsMissing) {
  int parsed = 0;
  for (const std::string& name : ModelNames()) {
    const std::string error =
        ErrorOf("path=batched format=nvfp4 layout=transposed rows=1 model=" + name);
    parsed += error.empty();
    if (!error.empty()) {
      EXPECT_NE(error.find("described by no case field"), std::string::npos) << error;
    }
  }
  EXPECT_GE(parsed, 15);
}

}  // namespace
}  // namespace assay
