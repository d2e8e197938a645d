// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"

namespace ruvd {

// Lets some lines of one kind through in each period, so that strangers who cause them cannot fill
// the log. Not thread-safe.
class LogLimit {
 public:
  LogLimit(const Clock& clock, uint64_t lines, Duration period)
      : clock_(clock), lines_(lines), period_(period) {}

  // Returns how many lines were left out since the last one that was let through; nullopt: this one
  // is left out, too.
  std::optional<uint64_t> Admit();

 private:
  const Clock& clock_;
  const uint64_t lines_;
  const Duration period_;
  std::optional<TimePoint> began_;  // the period; nullopt: no line came yet
  uint64_t written_ = 0;            // lines of the period
  uint64_t left_out_ = 0;
};

// Returns a text for the end of a line: how many such lines were left out before it.
std::string LeftOut(uint64_t lines);

}  // namespace ruvd
