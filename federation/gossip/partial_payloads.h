// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <string>

#include "base/bytes.h"
#include "federation/limits.h"

namespace ruvd::federation {

// The first chunks of payloads whose transfers were given up, each checked against its manifest, so
// that a new transfer continues where the earlier one ended. Size is bounded; the oldest entries
// are dropped first. Not thread-safe.
class PartialPayloads {
 public:
  explicit PartialPayloads(size_t max_bytes = limits::kMaxPartialBytes) : max_bytes_(max_bytes) {}

  // Keeps `chunks`, whole chunks starting from the first. Does nothing if it is empty.
  void Insert(const Digest& id, std::string chunks);
  // Removes and returns the chunks of an item; empty if none were kept.
  std::string Take(const Digest& id);
  size_t bytes() const { return bytes_; }

 private:
  size_t max_bytes_;
  size_t bytes_ = 0;
  std::map<Digest, std::string> kept_;
  std::deque<Digest> oldest_first_;
};

}  // namespace ruvd::federation
