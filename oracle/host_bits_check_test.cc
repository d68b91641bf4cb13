#include "oracle/host_bits_check.h"

#include <gtest/gtest.h>

#include "oracle/scripted_case.h"

namespace assay {
namespace {

TEST(HostBitsCheck, PassesTheSameBits) {
  const ScriptedCase c = MakeScriptedCase();
  const RunRecord run = MakeScriptedRun(c.layer.problem);
  EXPECT_TRUE(CheckHostBits(c.context(), run, run).empty());
}

TEST(HostBitsCheck, NamesTheFirstTensorInOrderOfComputation) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord gpu = MakeScriptedRun(c.layer.problem);
  gpu.stages.gate.assign(4 * 32, 0x3F80);
  gpu.launches = {{"gate_gemv", {}, 32, 0}, {"gate_up", {}, 32, 0}, {"blend", {}, 32, 0}};
  RunRecord host = gpu;
  host.stages.gate[2 * 32 + 5] = 0x3F81;
  host.output[0] = 0x3F81;
  const auto findings = CheckHostBits(c.context(), gpu, host);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].check, "host_bits");
  EXPECT_EQ(findings[0].error_class, "bits_differ");
  EXPECT_EQ(findings[0].kernel, "gate_up");
  EXPECT_EQ(findings[0].evidence,
            (std::vector<std::pair<std::string, std::string>>{{"tensor", "gate"},
                                                              {"first", "slot 2, row 5"},
                                                              {"gpu", "0x3f80 (1)"},
                                                              {"host", "0x3f81 (1.0078125)"},
                                                              {"different", "1 of 128"},
                                                              {"stage", "gate"}}));
}

TEST(HostBitsCheck, FindsAStageThatOneSideDoesNotShow) {
  const ScriptedCase c = MakeScriptedCase();
  RunRecord gpu = MakeScriptedRun(c.layer.problem), host = gpu;
  host.stages.down.assign(4 * 64, 0);
  const auto findings = CheckHostBits(c.context(), gpu, host);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(EvidenceOf(findings[0], "tensor"), "down");
  EXPECT_EQ(EvidenceOf(findings[0], "gpu"), "0 elements");
}

}  // namespace
}  // namespace assay
