#include "gpu/worker/worker.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>

#include "reference/error.h"

extern char** environ;

namespace assay {
namespace {

constexpr int kRequests = 3, kAnswers = 4;

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::vector<std::string> EnvironmentWith(const std::vector<std::string>& added) {
  std::vector<std::string> all = added;
  for (char** variable = environ; *variable != nullptr; ++variable) all.emplace_back(*variable);
  return all;
}

// A pipe whose ends no other child inherits.
struct Pipe {
  int read = -1, write = -1;

  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw EnvironmentError(std::string("worker: no pipe: ") + std::strerror(errno));
    read = ends[0];
    write = ends[1];
  }
};

class SpawnActions {
 public:
  SpawnActions() { posix_spawn_file_actions_init(&actions_); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&actions_); }
  SpawnActions(const SpawnActions&) = delete;
  SpawnActions& operator=(const SpawnActions&) = delete;

  void Move(int from, int to) { posix_spawn_file_actions_adddup2(&actions_, from, to); }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

// Above the numbers that the child's ends get, so that moving one never overwrites another.
int Above(int fd) {
  const int moved = fcntl(fd, F_DUPFD_CLOEXEC, 10);
  close(fd);
  return moved;
}

}  // namespace

WorkerProcess::WorkerProcess(const std::vector<std::string>& command,
                             const std::vector<std::string>& environment) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe requests, answers;
  const int child_reads = Above(requests.read), child_writes = Above(answers.write);
  SpawnActions actions;
  actions.Move(STDERR_FILENO, STDOUT_FILENO);
  actions.Move(child_reads, kRequests);
  actions.Move(child_writes, kAnswers);
  std::vector<std::string> words = command, variables = EnvironmentWith(environment);
  const int error = posix_spawn(&pid_, words[0].c_str(), actions.get(), nullptr,
                                Pointers(words).data(), Pointers(variables).data());
  close(child_reads);
  close(child_writes);
  to_ = requests.write;
  from_ = answers.read;
  if (error == 0) return;
  pid_ = -1;
  Close();
  throw EnvironmentError("worker: cannot start " + command[0] + ": " + std::strerror(error));
}

WorkerProcess::~WorkerProcess() {
  if (!Alive()) return;
  close(to_);  // the end of its requests
  to_ = -1;
  constexpr int kPatienceMs = 2000, kStepMs = 5;
  for (int waited = 0; waited < kPatienceMs; waited += kStepMs) {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      Close();
      return;
    }
    usleep(kStepMs * 1000);
  }
  Bury(Reply::Kind::kHung);
}

void WorkerProcess::Close() {
  if (to_ >= 0) close(to_);
  if (from_ >= 0) close(from_);
  to_ = from_ = -1;
  pid_ = -1;
}

Reply WorkerProcess::Bury(Reply::Kind kind) {
  if (kind == Reply::Kind::kHung) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  Close();
  Reply reply{kind, "", -1, 0};
  if (kind == Reply::Kind::kHung) {
    reply.text = "no answer in time, killed";
  } else if (WIFSIGNALED(status)) {
    reply.signal = WTERMSIG(status);
    reply.text = "signal " + std::to_string(reply.signal) + " (" + strsignal(reply.signal) + ")";
  } else {
    reply.exit_code = WEXITSTATUS(status);
    reply.text = "exit code " + std::to_string(reply.exit_code);
  }
  return reply;
}

Reply WorkerProcess::Ask(const std::string& request, std::chrono::milliseconds timeout) {
  if (!Alive()) throw EnvironmentError("worker: asked after its end");
  if (!Send(to_, request)) return Bury(Reply::Kind::kDied);
  Message message = Receive(from_, std::chrono::steady_clock::now() + timeout);
  if (message.received == Received::kMessage)
    return {Reply::Kind::kAnswered, std::move(message.text), -1, 0};
  return Bury(message.received == Received::kTimeout ? Reply::Kind::kHung : Reply::Kind::kDied);
}

Workers::Workers(std::vector<std::string> command, std::vector<std::string> environment,
                 int standbys)
    : command_(std::move(command)),
      environment_(std::move(environment)),
      wanted_(static_cast<std::size_t>(standbys) + 1) {}

std::unique_ptr<WorkerProcess> Workers::Start() {
  ++started_;
  return std::make_unique<WorkerProcess>(command_, environment_);
}

Reply Workers::Ask(const std::string& request, std::chrono::milliseconds timeout) {
  while (standing_.size() < wanted_) standing_.push_back(Start());
  Reply reply = standing_.front()->Ask(request, timeout);
  if (!standing_.front()->Alive()) standing_.erase(standing_.begin());
  return reply;
}

void ServeRequests(const std::function<std::string(const std::string&)>& answer) {
  std::signal(SIGPIPE, SIG_IGN);
  while (true) {
    const Message request = Receive(kRequests, std::nullopt);
    if (request.received != Received::kMessage) return;
    std::string text;
    try {
      text = answer(request.text);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "assay worker: %s\n", error.what());
      constexpr int kHarnessFault = 99;
      std::_Exit(kHarnessFault);
    }
    if (!Send(kAnswers, text)) return;
  }
}

}  // namespace assay
