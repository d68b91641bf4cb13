// Work in other processes, which may trap, hang, or end at any time: a worker answers requests
// until it dies; its supervisor tells how it died and hands the next request to a fresh one.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "gpu/worker/channel.h"

namespace assay {

struct Reply {
  enum class Kind { kAnswered, kDied, kHung };
  Kind kind = Kind::kAnswered;
  std::string text;  // the answer; else how the worker ended: "signal 11 (Segmentation fault)"
  int exit_code = -1, signal = 0;  // kDied: one of them
};

// One child process. The command finds its requests on file descriptor 3 and answers on 4; its
// standard output goes to standard error, so that kernels may print.
class WorkerProcess {
 public:
  // Throws EnvironmentError if the process cannot be started. `environment`: "NAME=value" to add.
  explicit WorkerProcess(const std::vector<std::string>& command,
                         const std::vector<std::string>& environment = {});
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;
  ~WorkerProcess();  // asks it to end, kills it if it does not

  // After kDied or kHung (then it was killed) the process is gone.
  Reply Ask(const std::string& request, std::chrono::milliseconds timeout);
  bool Alive() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

 private:
  Reply Bury(Reply::Kind kind);
  void Close();

  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

// A worker and fresh ones that stand by, for starting one can take a fifth of a second.
class Workers {
 public:
  Workers(std::vector<std::string> command, std::vector<std::string> environment, int standbys);

  // Asks the current worker; if it ends, the next request goes to a standby.
  Reply Ask(const std::string& request, std::chrono::milliseconds timeout);
  int Started() const { return started_; }

 private:
  std::unique_ptr<WorkerProcess> Start();

  std::vector<std::string> command_, environment_;
  std::vector<std::unique_ptr<WorkerProcess>> standing_;
  std::size_t wanted_;
  int started_ = 0;
};

// The worker's side: answers until the supervisor closes the channel. An exception of `answer` ends
// the process with code 99 after its message went to standard error.
void ServeRequests(const std::function<std::string(const std::string&)>& answer);

}  // namespace assay
