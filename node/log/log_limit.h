// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace ruvd {

// Lets some lines of each kind through in each period, so that strangers who cause them cannot fill
// the log, nor hide lines of another kind. Kinds are names that the program gives, such as error
// reasons. Not thread-safe.
class LogLimit {
 public:
  LogLimit(const Clock& clock, uint64_t lines, Duration period)
      : clock_(clock), lines_(lines), period_(period) {}

  // Returns how many lines of the kind were left out since the last one that was let through;
  // nullopt: this one is left out, too.
  std::optional<uint64_t> Admit(std::string_view kind);
  // Returns how many lines all limits of this process left out since its start. Thread-safe.
  static uint64_t left_out_of_all();

 private:
  struct Kind {
    TimePoint began;        // the period
    uint64_t written = 0;   // lines of the period
    uint64_t left_out = 0;  // since a line was written
  };
  const Clock& clock_;
  const uint64_t lines_;
  const Duration period_;
  std::map<std::string, Kind, std::less<>> kinds_;
};

// Returns a text for the end of a line: how many such lines were left out before it.
std::string LeftOut(uint64_t lines);

}  // namespace ruvd
