// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "base/random.h"

namespace ruvd {

struct BackoffOptions {
  Duration initial = std::chrono::milliseconds(100);
  Duration max = std::chrono::seconds(10);
};

// Exponential backoff with full jitter: the n-th wait is uniform over [0, min(max, initial 2^n)),
// which spreads retries of many clients best (Brooker, "Exponential Backoff And Jitter", AWS
// Architecture Blog, 2015). Not thread-safe.
class Backoff {
 public:
  explicit Backoff(BackoffOptions options = {}) : options_(options), ceiling_(options.initial) {}

  Duration Next(Random& random) {
    const Duration wait(static_cast<Duration::rep>(
        random.Uniform() * static_cast<double>(std::min(ceiling_, options_.max).count())));
    ceiling_ = ceiling_ < options_.max / 2 ? ceiling_ * 2 : options_.max;
    return wait;
  }
  // Call it after a success: the next wait is drawn from the first interval again.
  void Reset() { ceiling_ = options_.initial; }

 private:
  BackoffOptions options_;
  Duration ceiling_;
};

}  // namespace ruvd
