#include "fuzz/models.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "fuzz/case.h"
#include "reference/error.h"

namespace assay {
namespace {

ModelInfo InfoOf(const std::string& name) {
  for (const ModelInfo& info : ModelInfos())
    if (info.name == name) return info;
  throw UsageError("no model " + name);
}

TEST(Models, TheTableTellsShapeRouterSharedAndFormats) {
  const ModelInfo qwen = InfoOf("qwen3-30b-a3b");
  EXPECT_EQ(qwen.shape, "2048 x 768, 8 of 128");
  EXPECT_EQ(qwen.router, "softmax norm=on");
  EXPECT_EQ(qwen.activation, "silu");
  EXPECT_EQ(qwen.shared, "none");
  EXPECT_EQ(qwen.formats, "bf16 fp8_block nvfp4");
  EXPECT_EQ(qwen.undescribed, "");
  const ModelInfo deepseek = InfoOf("deepseek-v3");
  EXPECT_EQ(deepseek.shape, "7168 x 2048, 8 of 256");
  EXPECT_EQ(deepseek.router, "grouped_sigmoid_bias norm=on scale=2.5 groups=8 groups_kept=4");
  EXPECT_EQ(deepseek.shared, "2048");
  EXPECT_EQ(InfoOf("deepseek-v4-flash").activation, "silu limit=10");
  EXPECT_EQ(InfoOf("gpt-oss-20b").activation, "swiglu_oai limit=7");
  EXPECT_EQ(InfoOf("laguna-xs").shared, "512, bf16");
  EXPECT_EQ(InfoOf("qwen3-next-80b").shared, "512, gate sigmoid");
  EXPECT_FALSE(InfoOf("step-3.7-flash").sure);
}

TEST(Models, EveryModelHasOneRowAndAFullOne) {
  const std::vector<ModelInfo> infos = ModelInfos();
  ASSERT_EQ(infos.size(), ModelNames().size());
  for (const ModelInfo& info : infos)
    for (const std::string& text : {info.name, info.shape, info.router, info.shared, info.formats})
      EXPECT_FALSE(text.empty()) << info.name;
}

// The column "no case field yet" and the refusal of model=NAME are one fact.
TEST(Models, AModelIsRefusedExactlyWhereTheTableNamesWhatIsMissing) {
  int refused = 0;
  for (const ModelInfo& info : ModelInfos()) {
    const bool complete = info.undescribed.empty();
    refused += !complete;
    if (complete)
      EXPECT_NO_THROW(ModelFields(info.name, "nvfp4")) << info.name;
    else
      EXPECT_THROW(ModelFields(info.name, "nvfp4"), UsageError) << info.name;
  }
  EXPECT_GT(refused, 0);
}

TEST(Models, ACaseLineWithAModelIsThatLayer) {
  const Case qwen =
      ParseCase("path=batched format=nvfp4 layout=row_major rows=2 model=qwen3-30b-a3b");
  EXPECT_EQ(qwen.problem.hidden, 2048);
  EXPECT_EQ(qwen.problem.inter, 768);
  EXPECT_EQ(qwen.problem.experts, 128);
  EXPECT_EQ(qwen.problem.top_k, 8);
  EXPECT_EQ(qwen.problem.router, RouterKind::kSoftmax);
  EXPECT_TRUE(qwen.problem.norm);
  EXPECT_FALSE(qwen.problem.shared.has_value());
  const Case v3 =
      ParseCase("path=batched format=fp8_block layout=row_major rows=1 model=deepseek-v3");
  EXPECT_EQ(v3.problem.hidden, 7168);
  EXPECT_EQ(v3.problem.experts, 256);
  EXPECT_EQ(v3.problem.router, RouterKind::kGroupedSigmoidBias);
  EXPECT_EQ(v3.problem.groups, 8);
  EXPECT_EQ(v3.problem.groups_kept, 4);
  EXPECT_EQ(v3.problem.scale, 2.5);
  EXPECT_EQ(v3.problem.shared, Format::kFp8Block);
  EXPECT_EQ(v3.problem.shared_gate, SharedGate::kNone);
}

}  // namespace
}  // namespace assay
