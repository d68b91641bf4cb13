#include "reference/golden.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "reference/error.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

const fs::path kGoldens = ASSAY_GOLDENS;

long CountOf(const std::vector<GoldenResult>& results, GoldenResult::Outcome outcome) {
  return std::count_if(results.begin(), results.end(),
                       [&](const GoldenResult& r) { return r.outcome == outcome; });
}

class CopiedGoldens : public testing::Test {
 protected:
  fs::path dir_ = fs::path(testing::TempDir()) / "assay_goldens";

  void SetUp() override {
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  void Copy(const char* folder, const char* file) {
    fs::copy_file(kGoldens / folder / file, dir_ / file);
  }
  static std::string Text(const char* folder, const char* file) {
    std::ifstream stream(kGoldens / folder / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  // The first `from` becomes `to`.
  static std::string Replace(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    return at == std::string::npos ? "" : text.replace(at, from.size(), to);
  }
  void Overwrite(const char* file, const std::string& text) {
    std::ofstream(dir_ / file, std::ios::binary) << text;
  }
};

TEST(Golden, AllCommittedGoldensAreReproduced) {
  const auto results = EvaluateGoldens(kGoldens);
  for (const GoldenResult& r : results)
    EXPECT_EQ(r.outcome, GoldenResult::kPassed) << r.name << ": " << r.reason;
  // 23 layers, 6 tables to decode, 7 to encode, 12 packed checkpoints.
  EXPECT_EQ(CountOf(results, GoldenResult::kPassed), 23 + 6 + 7 + 12);
}

TEST(Golden, EveryLayerComparesItsOutputInDouble) {
  for (const GoldenResult& r : EvaluateGoldens(kGoldens / "hf")) {
    const auto is_output = [](const auto& tensor) { return tensor.first == "f64.output"; };
    EXPECT_TRUE(std::any_of(r.tensors.begin(), r.tensors.end(), is_output)) << r.name;
  }
}

TEST_F(CopiedGoldens, AnAbsentFileIsAnAbsentTest) {
  Copy("hf", "cases.json");
  Copy("hf", "mixtral-a.safetensors");
  const auto results = EvaluateGoldens(dir_);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].name, "layer/mixtral-a");
}

TEST_F(CopiedGoldens, AFolderWithoutGoldensIsAUsageError) {
  EXPECT_THROW(EvaluateGoldens(dir_), UsageError);
  EXPECT_THROW(EvaluateGoldens(dir_ / "absent"), UsageError);
}

TEST_F(CopiedGoldens, ADescriptionThatIsNotJsonIsAUsageError) {
  Overwrite("cases.json", "{\"cases\": [");
  EXPECT_THROW(EvaluateGoldens(dir_), UsageError);
}

// The message of the error that evaluation gives; "fine" if it gives none.
std::string ErrorOf(const fs::path& dir) {
  try {
    EvaluateGoldens(dir);
    return "fine";
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST_F(CopiedGoldens, ABrokenDescriptionNamesCasePointerValueAndRule) {
  Copy("hf", "mixtral-a.safetensors");
  const std::string text = Text("hf", "cases.json");
  Overwrite("cases.json", Replace(text, "\"top_k\": 2", "\"top_k\": -2"));
  EXPECT_NE(ErrorOf(dir_).find(
                "cases.json: case \"mixtral-a\": /top_k: -2 breaks the rule: experts by token"),
            std::string::npos)
      << ErrorOf(dir_);
}

TEST_F(CopiedGoldens, FilesOutsideTheFolderAreRefused) {
  for (const char* folder : {"hf", "formats"}) {
    const char* file = folder == std::string("hf") ? "cases.json" : "packed.json";
    const std::string text = Text(folder, file);
    Overwrite(file, Replace(text, "\"file\": \"", "\"file\": \"../"));
    EXPECT_NE(ErrorOf(dir_).find("is no plain file name"), std::string::npos) << ErrorOf(dir_);
    fs::remove(dir_ / file);
  }
}

TEST_F(CopiedGoldens, DescriptionsOfAnotherShapeAreRefused) {
  for (const char* file : {"cases.json", "packed.json", "formats.json"})
    for (const char* text :
         {"[]", "7", "{}", "{\"cases\": 7}", "{\"cases\": [7]}", "", "{\"cases\":"}) {
      Overwrite(file, text);
      EXPECT_NE(ErrorOf(dir_).find(file), std::string::npos) << file << " " << text;
      fs::remove(dir_ / file);
    }
}

TEST_F(CopiedGoldens, ATruncatedTensorFileIsNamed) {
  Copy("formats", "packed.json");
  Copy("formats", "mxfp4-a.safetensors");
  fs::resize_file(dir_ / "mxfp4-a.safetensors", 1000);
  EXPECT_NE(ErrorOf(dir_).find("mxfp4-a.safetensors: "), std::string::npos) << ErrorOf(dir_);
}

TEST_F(CopiedGoldens, EachFileAloneIsItsOwnTests) {
  const std::pair<const char*, std::size_t> files[] = {
      {"formats.json", 6}, {"encode.safetensors", 6}, {"encode_bfloat16.safetensors", 1}};
  for (const auto& [file, tests] : files) {
    Copy("formats", file);
    const auto results = EvaluateGoldens(dir_);
    EXPECT_EQ(results.size(), tests) << file;
    EXPECT_EQ(CountOf(results, GoldenResult::kPassed), long(tests)) << file;
    fs::remove(dir_ / file);
  }
}

TEST_F(CopiedGoldens, OneWrongCodeInATableFailsThatTableOnly) {
  const std::string text = Text("formats", "formats.json");
  Overwrite("formats.json", Replace(text, "0.5", "0.25"));
  const auto results = EvaluateGoldens(dir_);
  EXPECT_EQ(CountOf(results, GoldenResult::kFailed), 1);
  EXPECT_EQ(CountOf(results, GoldenResult::kPassed), 5);
}

TEST_F(CopiedGoldens, AWrongWeightFailsTheCase) {
  Copy("hf", "mixtral-a.safetensors");
  std::ifstream stream(kGoldens / "hf" / "cases.json");
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  // Another router, described for the same numbers.
  const std::size_t at = text.find("\"norm_topk_prob\": true");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 22, "\"norm_topk_prob\": false");
  Overwrite("cases.json", text);
  const auto results = EvaluateGoldens(dir_);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].outcome, GoldenResult::kFailed) << results[0].reason;
  EXPECT_GT(results[0].error, 1e-2);
}

TEST_F(CopiedGoldens, AFeatureThatIsNotBuiltIsSkippedByName) {
  Copy("hf", "mixtral-a.safetensors");
  std::ifstream stream(kGoldens / "hf" / "cases.json");
  std::string text{std::istreambuf_iterator<char>(stream), {}};
  const std::size_t at = text.find("\"scoring\": \"softmax\"");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 20, "\"scoring\": \"entmax\"");
  Overwrite("cases.json", text);
  const auto results = EvaluateGoldens(dir_);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].outcome, GoldenResult::kSkipped);
  EXPECT_NE(results[0].reason.find("/router/scoring: \"entmax\""), std::string::npos)
      << results[0].reason;
}

TEST_F(CopiedGoldens, AShortTableIsRefusedInsteadOfComparedInPart) {
  Overwrite("formats.json", R"({"decode": {"float4_e2m1fn": {"values": []}}})");
  EXPECT_NE(ErrorOf(dir_).find("0 entries, 16 are needed"), std::string::npos) << ErrorOf(dir_);
}

// The header names a tensor otherwise, in as many characters: for the reader it is gone.
TEST_F(CopiedGoldens, ACaseWithoutATensorThatItNeedsIsRefused) {
  Copy("hf", "cases.json");
  const std::string text = Text("hf", "mixtral-a.safetensors");
  for (const std::string tensor : {"f64.router_logits", "f64.topk_weights", "f64.output"}) {
    Overwrite("mixtral-a.safetensors", Replace(text, tensor, "x" + tensor.substr(1)));
    EXPECT_NE(ErrorOf(dir_).find("mixtral-a.safetensors: tensor \"" + tensor), std::string::npos)
        << ErrorOf(dir_);
  }
}

TEST_F(CopiedGoldens, TensorsOfOtherExtentsThanTheDescriptionAreRefused) {
  Copy("hf", "mixtral-a.safetensors");
  const std::string text = Text("hf", "cases.json");
  Overwrite("cases.json", Replace(text, "\"tokens\": 3", "\"tokens\": 1"));
  EXPECT_NE(ErrorOf(dir_).find("dimension 0: is 3, the description needs 1"), std::string::npos)
      << ErrorOf(dir_);
  Overwrite("cases.json", Replace(text, "\"num_experts\": 8", "\"num_experts\": 7"));
  EXPECT_NE(ErrorOf(dir_).find("is 8, the description needs 7"), std::string::npos)
      << ErrorOf(dir_);
}

TEST_F(CopiedGoldens, ErrorsOfAPackedCaseNameItsFile) {
  Copy("formats", "packed.json");
  const std::string text = Text("formats", "mxfp4-a.safetensors");
  Overwrite("mxfp4-a.safetensors", Replace(text, "\"scales\"", "\"scalez\""));
  EXPECT_NE(ErrorOf(dir_).find("mxfp4-a.safetensors: "), std::string::npos) << ErrorOf(dir_);
}

TEST_F(CopiedGoldens, ANewlineInANameStaysOnItsLine) {
  Copy("hf", "mixtral-a.safetensors");
  Overwrite("cases.json",
            Replace(Text("hf", "cases.json"), "\"name\": \"mixtral-a\"", "\"name\": \"mix\\na\""));
  const auto results = EvaluateGoldens(dir_);
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].name, "layer/mix?a");
}

}  // namespace
}  // namespace assay
