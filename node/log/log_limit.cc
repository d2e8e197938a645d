// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/log/log_limit.h"

#include <fmt/format.h>

#include <utility>

namespace ruvd {

std::optional<uint64_t> LogLimit::Admit() {
  const TimePoint now = clock_.Now();
  if (!began_ || now - *began_ >= period_) {
    began_ = now;
    written_ = 0;
  }
  if (written_ >= lines_) {
    ++left_out_;
    return std::nullopt;
  }
  ++written_;
  return std::exchange(left_out_, 0);
}

std::string LeftOut(uint64_t lines) {
  return lines == 0 ? "" : fmt::format(" ({} such lines before it were left out)", lines);
}

}  // namespace ruvd
