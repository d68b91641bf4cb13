// Workers that answer, trap, hang, end, and print where they should not.
#include "gpu/worker/worker.h"

#include <gtest/gtest.h>

#include <csignal>

#include "reference/error.h"

namespace assay {
namespace {

using namespace std::chrono_literals;

// `cat` echoes the bytes of the channel as they are, which is the message itself.
std::vector<std::string> Cat() { return {"/bin/sh", "-c", "exec cat <&3 >&4"}; }
std::vector<std::string> Shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

TEST(WorkerProcess, AnswersRequestAfterRequest) {
  WorkerProcess worker(Cat());
  for (const std::string request : {"one", "", "a line\nand another"}) {
    const Reply reply = worker.Ask(request, 5s);
    EXPECT_EQ(reply.kind, Reply::Kind::kAnswered);
    EXPECT_EQ(reply.text, request);
  }
  EXPECT_TRUE(worker.Alive());
}

TEST(WorkerProcess, ThatTrapsIsReportedWithItsSignal) {
  WorkerProcess worker(Shell("head -c 8 <&3 >/dev/null; kill -SEGV $$"));
  const Reply reply = worker.Ask("a", 5s);
  EXPECT_EQ(reply.kind, Reply::Kind::kDied);
  EXPECT_EQ(reply.signal, SIGSEGV);
  EXPECT_NE(reply.text.find("Segmentation"), std::string::npos) << reply.text;
  EXPECT_FALSE(worker.Alive());
}

TEST(WorkerProcess, ThatExitsIsReportedWithItsCode) {
  WorkerProcess worker(Shell("head -c 8 <&3 >/dev/null; exit 70"));
  const Reply reply = worker.Ask("a", 5s);
  EXPECT_EQ(reply.kind, Reply::Kind::kDied);
  EXPECT_EQ(reply.exit_code, 70);
}

TEST(WorkerProcess, ThatHangsIsKilledAtItsDeadline) {
  WorkerProcess worker(Shell("while :; do sleep 1; done"));
  const Reply reply = worker.Ask("a", 50ms);
  EXPECT_EQ(reply.kind, Reply::Kind::kHung);
  EXPECT_FALSE(worker.Alive());
}

TEST(WorkerProcess, MayPrintWithoutSpoilingItsAnswers) {
  WorkerProcess worker(Shell("echo noise; exec cat <&3 >&4"));
  EXPECT_EQ(worker.Ask("quiet", 5s).text, "quiet");
}

TEST(WorkerProcess, ThatCannotStartIsAClearError) {
  EXPECT_THROW(WorkerProcess({"/nonexistent/worker"}), EnvironmentError);
}

// Length 2^63 and a few bytes: no gigabytes are asked for, the worker counts as gone.
TEST(WorkerProcess, ThatNamesAnAbsurdLengthCountsAsGone) {
  WorkerProcess worker(Shell(R"(printf '\0\0\0\0\0\0\0\200abc' >&4; exit 3)"));
  const Reply reply = worker.Ask("a", 5s);
  EXPECT_EQ(reply.kind, Reply::Kind::kDied);
}

TEST(Workers, HandTheNextRequestToAFreshProcess) {
  Workers workers(Shell("head -c 8 <&3 >/dev/null; kill -ABRT $$"), {}, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(workers.Ask("a", 5s).signal, SIGABRT);
  EXPECT_EQ(workers.Started(), 4);
}

}  // namespace
}  // namespace assay
