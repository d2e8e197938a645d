// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/log/log_limit.h"

#include <fmt/format.h>

#include <atomic>
#include <utility>

namespace ruvd {
namespace {

std::atomic<uint64_t> lines_left_out{0};

}  // namespace

uint64_t LogLimit::left_out_of_all() {
  return lines_left_out.load(std::memory_order_relaxed);
}

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
    lines_left_out.fetch_add(1, std::memory_order_relaxed);
    return std::nullopt;
  }
  ++own.written;
  return std::exchange(own.left_out, 0);
}

std::string LeftOut(uint64_t lines) {
  return lines == 0 ? "" : fmt::format(" ({} such lines before it were left out)", lines);
}

}  // namespace ruvd
