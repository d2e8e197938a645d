// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/terminal/interrupt.h"

#include <atomic>

namespace ruvd::cli {
namespace {

std::atomic<bool> raised_signal = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void Note(int /*signal*/) {
  raised_signal = true;
}

}  // namespace

Interrupt::Interrupt() {
  raised_signal = false;
  struct sigaction action{};
  action.sa_handler = Note;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  ::sigaction(SIGINT, &action, &interrupt_);
  ::sigaction(SIGTERM, &action, &terminate_);
}

Interrupt::~Interrupt() {
  ::sigaction(SIGINT, &interrupt_, nullptr);
  ::sigaction(SIGTERM, &terminate_, nullptr);
}

bool Interrupt::raised() const {
  return raised_signal;
}

}  // namespace ruvd::cli
