// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <vector>

namespace ruvd::campaign {

// A process with its standard output in a pipe. The destructor kills it and waits for it.
class ChildProcess {
 public:
  // `arguments[0]` is the program's path.
  explicit ChildProcess(std::vector<std::string> arguments);
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // Returns false at the end of the output.
  bool ReadLine(std::string* line);
  void Kill();
  // Returns the status as waitpid(2) reports it.
  int Wait();

 private:
  pid_t pid_ = -1;
  std::FILE* output_ = nullptr;
};

// Writes less than PIPE_BUF bytes to standard output with one write(2): they arrive whole or not at
// all. Threads may call it at the same time. Returns false when the reading end is closed.
bool PutLine(const std::string& line);

}  // namespace ruvd::campaign
