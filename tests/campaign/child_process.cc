// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "tests/campaign/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/status.h"

namespace ruvd::campaign {

ChildProcess::ChildProcess(std::vector<std::string> arguments) {
  int ends[2];
  RUVD_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  pid_ = ::fork();
  RUVD_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  output_ = ::fdopen(ends[0], "r");
  RUVD_CHECK(output_ != nullptr);
}

ChildProcess::~ChildProcess() {
  if (pid_ > 0) {
    Kill();
    Wait();
  }
  std::fclose(output_);
}

bool ChildProcess::ReadLine(std::string* line) {
  line->clear();
  for (int c; (c = std::fgetc(output_)) != EOF;) {
    if (c == '\n') {
      return true;
    }
    line->push_back(static_cast<char>(c));
  }
  return false;
}

void ChildProcess::Kill() {
  ::kill(pid_, SIGKILL);
}

int ChildProcess::Wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

bool PutLine(const std::string& line) {
  const std::string text = line + "\n";
  return ::write(STDOUT_FILENO, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace ruvd::campaign
