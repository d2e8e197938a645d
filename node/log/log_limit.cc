// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/log/log_limit.h"

#include <fmt/format.h>

#include <utility>

namespace ruvd {

std::optional<uint64_t> LogLimit::Admit(std::string_view kind) {
  const TimePoint now = clock_.Now();
  auto found = kinds_.find(kind);
  if (found == kinds_.end()) {
    found = kinds_.emplace(kind, Kind{.began = now}).first;
  }
  Kind& own = found->second;
  if (now - own.began >= period_) {
    own.began = now;
    own.written = 0;
  }
  if (own.written >= lines_) {
    ++own.left_out;
    return std::nullopt;
  }
  ++own.written;
  return std::exchange(own.left_out, 0);
}

std::string LeftOut(uint64_t lines) {
  return lines == 0 ? "" : fmt::format(" ({} such lines before it were left out)", lines);
}

}  // namespace ruvd
