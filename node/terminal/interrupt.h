// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <csignal>

namespace ruvd::cli {

// While it lives, SIGINT and SIGTERM are noted instead of ending the process, so that long work can
// leave what it has; afterwards they do what they did before. A second one ends the process. One at
// a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Whether a signal came.
  bool raised() const;

 private:
  struct sigaction interrupt_{};
  struct sigaction terminate_{};
};

}  // namespace ruvd::cli
