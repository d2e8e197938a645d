// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace ruvd {

// Allows `rate` events a second with bursts of `burst`. Not thread-safe.
class TokenBucket {
 public:
  TokenBucket(double rate, double burst, TimePoint now)
      : rate_(rate), burst_(burst), tokens_(burst), last_(now) {}

  // Takes one token, or `amount`. Returns false if there are fewer.
  bool Take(TimePoint now, double amount = 1) {
    const double elapsed = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    tokens_ = std::min(burst_, tokens_ + rate_ * std::max(0.0, elapsed));
    if (tokens_ < amount) {
      return false;
    }
    tokens_ -= amount;
    return true;
  }

  // Returns whether Take would succeed.
  bool Has(TimePoint now, double amount = 1) {
    const bool has = Take(now, amount);
    tokens_ += has ? amount : 0;
    return has;
  }

  // Returns the time after which Take would succeed, if none is taken meanwhile; at least 1 ms.
  std::chrono::milliseconds Wait(TimePoint now, double amount = 1) {
    Has(now, amount);
    return std::chrono::milliseconds(
        1 + static_cast<int64_t>(1000 * std::max(0.0, amount - tokens_) / rate_));
  }

  // Takes tokens even if there are fewer: what lacks is owed, and comes first.
  void Charge(TimePoint now, double amount = 1) {
    if (!Take(now, amount)) {
      tokens_ -= amount;
    }
  }

  // Returns tokens that were taken but not used.
  void Return(double amount) { tokens_ = std::min(burst_, tokens_ + amount); }

 private:
  double rate_;
  double burst_;
  double tokens_;
  TimePoint last_;
};

}  // namespace ruvd
