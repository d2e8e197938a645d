// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "node/process/private_memory.h"
#include "node/program/program.h"

namespace {

std::vector<std::pair<std::string, std::string>> Environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

// If this is set to 1, debuggers may attach and core dumps may be written.
constexpr char kDebugVariable[] = "RUVD_DEBUGGABLE";

}  // namespace

int main(int argc, char** argv) {
  const char* const debuggable = std::getenv(kDebugVariable);
  if (debuggable == nullptr || std::string_view(debuggable) != "1") {
    ruvd::node::ProtectProcessMemory();
  }
  ruvd::cli::CommandContext context{.out = std::cout,
                                    .err = std::cerr,
                                    .environment = Environment(),
                                    .out_is_terminal = ::isatty(STDOUT_FILENO) == 1,
                                    .err_is_terminal = ::isatty(STDERR_FILENO) == 1};
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
    context.columns = size.ws_col;
    context.rows = size.ws_row;
  }
  return ruvd::node::RunProgram(std::vector<std::string>(argv + 1, argv + argc), context);
}
