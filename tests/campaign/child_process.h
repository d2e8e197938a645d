// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace ruvd::campaign {

// A process with its standard output in a pipe. Killed and waited for when destroyed.
class ChildProcess {
 public:
  // `arguments[0]` is the program's path.
  explicit ChildProcess(std::vector<std::string> arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // False at the end of its output.
  bool ReadLine(std::string* line);
  void Kill();
  // As waitpid(2) reports it.
  int Wait();

 private:
  pid_t pid_ = -1;
  std::FILE* output_ = nullptr;
};

// One write(2) of less than PIPE_BUF bytes to standard output: it arrives whole or not at all.
// Threads may call it at once. False where nobody reads any more.
bool PutLine(const std::string& line);

}  // namespace ruvd::campaign
