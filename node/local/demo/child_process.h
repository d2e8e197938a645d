// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::cli {

// How a process ended.
struct ExitReport {
  int code = 0;    // exit code; 0 if a signal ended the process
  int signal = 0;  // 0 if the process exited by itself
  // "exit code 0" or "signal 9"
  std::string Describe() const;
};

// A child process. It has its own process group, so that Ctrl-C in the terminal reaches only the
// parent. It gets SIGTERM when the thread that started it ends. Not thread-safe.
class ChildProcess {
 public:
  struct Command {
    std::vector<std::string> arguments;    // arguments[0] is the path of the program
    std::vector<std::string> environment;  // NAME=value
    std::string log_file;                  // its standard error is appended to this file
  };
  // PROCESS_FAILED if the program cannot be started.
  static absl::StatusOr<std::unique_ptr<ChildProcess>> Start(const Command& command);
  // Kills the process if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Returns the first line of its standard output without the newline. PROCESS_FAILED if the
  // process ends or prints nothing before the timeout.
  absl::StatusOr<std::string> ReadLine(std::chrono::milliseconds timeout);
  void Signal(int signal) const;
  // Waits for the end of the process and says how it ended; nullopt if it still runs at the
  // timeout.
  std::optional<ExitReport> Wait(std::chrono::milliseconds timeout);

  pid_t pid() const { return pid_; }
  // Returns a descriptor for poll(2) that is readable once the process has ended.
  int exit_fd() const { return pid_fd_; }

 private:
  ChildProcess(pid_t pid, int pid_fd, int output_fd)
      : pid_(pid), pid_fd_(pid_fd), output_fd_(output_fd) {}

  pid_t pid_;
  int pid_fd_;
  int output_fd_;
  std::optional<ExitReport> report_;
};

}  // namespace ruvd::cli
