// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <csignal>

namespace ruvd::cli {

// While an object of this class lives, the first SIGINT or SIGTERM is noted and does not end the
// process, so that long work can save what it has. A second signal ends the process. The destructor
// restores the former handling. Only one object may live at a time.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Returns whether a signal came.
  bool raised() const;

 private:
  struct sigaction interrupt_{};
  struct sigaction terminate_{};
};

}  // namespace ruvd::cli
