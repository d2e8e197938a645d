// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace ruvd::test {

// Waits for running nodes, which follow the clock; false if it takes too long.
inline bool WaitUntil(const std::function<bool()>& holds) {
  constexpr auto kPatience = std::chrono::minutes(3);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return true;
}

}  // namespace ruvd::test
