#include "ci/interrupt.h"

#include <array>
#include <atomic>
#include <csignal>

namespace assay {
namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "the signal handler stores to it");
constexpr std::array kSignals = {SIGINT, SIGTERM};

void OnSignal(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptScope::InterruptScope() {
  interrupted = false;
  for (int signal : kSignals) std::signal(signal, OnSignal);
}

InterruptScope::~InterruptScope() {
  for (int signal : kSignals) std::signal(signal, SIG_DFL);
}

bool Interrupted() { return interrupted; }

}  // namespace assay
