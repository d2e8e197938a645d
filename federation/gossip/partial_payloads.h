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
// that a transfer begins where an earlier one ended. Bounded by bytes: what was kept first is
// forgotten first. Not thread-safe.
class PartialPayloads {
 public:
  explicit PartialPayloads(size_t max_bytes = limits::kMaxPartialBytes) : max_bytes_(max_bytes) {}

  // `chunks`: whole chunks from the first on. Nothing where there are none.
  void Keep(const Digest& id, std::string chunks);
  // The chunks of an item, empty if there are none; forgets them.
  std::string Take(const Digest& id);
  size_t bytes() const { return bytes_; }

 private:
  size_t max_bytes_;
  size_t bytes_ = 0;
  std::map<Digest, std::string> kept_;
  std::deque<Digest> oldest_first_;
};

}  // namespace ruvd::federation
