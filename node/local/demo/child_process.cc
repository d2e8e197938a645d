// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/local/demo/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/reasons.h"
#include "base/status.h"
#include "node/local/limits.h"

namespace ruvd::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

absl::Status Failed(std::string_view what, int error) {
  return Error(absl::StatusCode::kInternal, reasons::kProcessFailed,
               "cannot start a node process: {}: {}; check limits and permissions", what,
               std::strerror(error));
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) {
    pointers.push_back(const_cast<char*>(text.c_str()));
  }
  pointers.push_back(nullptr);
  return pointers;
}

// Returns the milliseconds until `deadline` for poll(2), at least 0.
int Remaining(steady_clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - steady_clock::now());
  return static_cast<int>(std::max<milliseconds::rep>(left.count(), 0));
}

// Calls the system call by its number, because glibc 2.36 declares its wrapper without C linkage.
int OpenPidFd(pid_t pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

// Runs between fork and exec and uses system calls only, because the parent may have threads.
[[noreturn]] void BecomeChild(char* const* arguments, char* const* environment, int output,
                              int log) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  ::execve(arguments[0], arguments, environment);
  ::_exit(127);
}

}  // namespace

std::string ExitReport::Describe() const {
  return signal != 0 ? fmt::format("signal {}", signal) : fmt::format("exit code {}", code);
}

absl::StatusOr<std::unique_ptr<ChildProcess>> ChildProcess::Start(const Command& command) {
  const std::vector<char*> arguments = Pointers(command.arguments);
  const std::vector<char*> environment = Pointers(command.environment);
  const int log = ::open(command.log_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) {
    return Failed(command.log_file, errno);
  }
  std::array<int, 2> pipe_fds{};
  if (::pipe2(pipe_fds.data(), O_CLOEXEC) != 0) {
    const int error = errno;
    ::close(log);
    return Failed("pipe", error);
  }
  const pid_t pid = ::fork();
  if (pid == 0) {
    BecomeChild(arguments.data(), environment.data(), pipe_fds[1], log);
  }
  const int fork_error = errno;
  ::close(log);
  ::close(pipe_fds[1]);
  const int pid_fd = pid < 0 ? -1 : OpenPidFd(pid);
  if (pid_fd < 0) {
    const int error = pid < 0 ? fork_error : errno;
    ::close(pipe_fds[0]);
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, nullptr, 0);
    }
    return Failed("fork", error);
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, pid_fd, pipe_fds[0]));
}

ChildProcess::~ChildProcess() {
  if (!report_) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(pid_fd_);
  ::close(output_fd_);
}

absl::StatusOr<std::string> ChildProcess::ReadLine(milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  std::string line;
  while (line.size() < limits::kMaxReadyLineBytes) {
    pollfd entry = {.fd = output_fd_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&entry, 1, Remaining(deadline));
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    char c = 0;
    if (ready <= 0 || ::read(output_fd_, &c, 1) != 1) {
      const auto report = Wait(ready > 0 ? milliseconds(1000) : milliseconds(0));
      return Error(absl::StatusCode::kInternal, reasons::kProcessFailed,
                   "process {} did not become ready: {}; see its log", pid_,
                   report ? report->Describe() : "it printed nothing");
    }
    if (c == '\n') {
      return line;
    }
    line.push_back(c);
  }
  return Error(absl::StatusCode::kInternal, reasons::kProcessFailed,
               "process {} printed a first line of more than {} bytes", pid_,
               limits::kMaxReadyLineBytes);
}

void ChildProcess::Signal(int signal) const {
  if (!report_) {
    ::kill(pid_, signal);
  }
}

std::optional<ExitReport> ChildProcess::Wait(milliseconds timeout) {
  const auto deadline = steady_clock::now() + timeout;
  while (!report_) {
    pollfd entry = {.fd = pid_fd_, .events = POLLIN, .revents = 0};
    const int ready = ::poll(&entry, 1, Remaining(deadline));
    if (ready < 0 && errno == EINTR) {
      continue;
    }
    if (ready <= 0) {
      return std::nullopt;
    }
    int status = 0;
    if (::waitpid(pid_, &status, 0) == pid_) {
      report_ = WIFSIGNALED(status) ? ExitReport{.code = 0, .signal = WTERMSIG(status)}
                                    : ExitReport{.code = WEXITSTATUS(status), .signal = 0};
    }
  }
  return report_;
}

}  // namespace ruvd::cli
