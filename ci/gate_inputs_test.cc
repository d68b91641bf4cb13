#include "ci/gate_inputs.h"

#include <gtest/gtest.h>

#include "reference/error.h"

namespace assay {
namespace {

std::string ErrorOf(const GatePolicy& policy) {
  try {
    ReadGateInputs(policy);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

TEST(GateInputsTest, TheProjectsOwnPolicyNamesWhatIsThere) {
  const GatePolicy policy = ReadGatePolicy(ASSAY_SOURCE_DIR "/ci/gate.toml");
  const GateInputs inputs = ReadGateInputs(policy);
  EXPECT_FALSE(inputs.corpus.empty());
  EXPECT_EQ(inputs.golden_folders.size(), policy.golden_folders.size());
}

TEST(GateInputsTest, AMissingCorpusFileIsNamedWithItsKey) {
  GatePolicy policy;
  for (const char* name : {"fuzz/corpus/none.cases", "fuzz/corpus"}) {
    policy.corpus_files = {name};
    const std::string error = ErrorOf(policy);
    EXPECT_TRUE(error.starts_with("policy key corpus.files: ")) << error;
    EXPECT_NE(error.find(name), std::string::npos) << error;
  }
}

TEST(GateInputsTest, AGoldenFolderThatIsMissingOrAFileIsNamedWithItsKey) {
  GatePolicy policy;
  for (const char* name : {"reference/testdata/none", "ci/gate.toml"}) {
    policy.golden_folders = {name};
    const std::string error = ErrorOf(policy);
    EXPECT_TRUE(error.starts_with("policy key goldens.folders: ")) << error;
    EXPECT_NE(error.find(name), std::string::npos) << error;
  }
}

}  // namespace
}  // namespace assay
