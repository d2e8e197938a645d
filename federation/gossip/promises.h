// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "base/bytes.h"
#include "base/clock.h"
#include "federation/actions.h"

namespace ruvd {

// What peers were asked for after they had said that they have it. A link keeps its order and a
// peer answers at once: an answer to anything that was sent later shows that the promise is broken,
// however slow or lossy the path is. Bounded; not thread-safe.
class Promises {
 public:
  void Asked(LinkId link, const Digest& id, TimePoint now);
  // The link answered about this id.
  void Answered(LinkId link, const Digest& id);
  void LinkDown(LinkId link) { asked_.erase(link); }
  // The link answered what was sent at `sent`: the promises that it has broken by that. Forgets
  // them.
  std::vector<Digest> TakeBroken(LinkId link, TimePoint sent);

 private:
  std::map<LinkId, std::map<Digest, TimePoint>> asked_;
};

}  // namespace ruvd
