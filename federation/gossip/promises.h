// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "federation/events/actions.h"

namespace ruvd::federation {

// Requests to peers for data that they had announced. A link keeps its order and a peer answers at
// once, so an answer to anything that was sent later shows that the promise is broken, however slow
// or lossy the path is. Bounded. Not thread-safe.
class Promises {
 public:
  struct Request {
    Digest id{};
    std::optional<uint32_t> chunk;  // nullopt: the manifest
    auto operator<=>(const Request&) const = default;
  };
  void RecordRequest(LinkId link, const Request& request, TimePoint now);
  // The peer delivered this, or said that it no longer has it. Returns whether it had been asked
  // for it.
  bool RecordAnswer(LinkId link, const Request& request);
  void LinkDown(LinkId link) { asked_.erase(link); }
  // The peer answered a frame that was sent at `sent`. Removes and returns the promises that are
  // broken by that.
  std::vector<Digest> TakeBrokenPromises(LinkId link, TimePoint sent);

 private:
  std::map<LinkId, std::map<Request, TimePoint>> asked_;
};

}  // namespace ruvd::federation
