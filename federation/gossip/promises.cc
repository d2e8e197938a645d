// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/promises.h"

#include "federation/limits.h"

namespace ruvd {

void Promises::Asked(LinkId link, const Digest& id, TimePoint now) {
  std::map<Digest, TimePoint>& asked = asked_[link];
  if (asked.size() < limits::kMaxPromisesPerLink || asked.contains(id)) {
    asked.try_emplace(id, now);
  }
}

void Promises::Answered(LinkId link, const Digest& id) {
  if (const auto found = asked_.find(link); found != asked_.end()) {
    found->second.erase(id);
    if (found->second.empty()) {
      asked_.erase(found);
    }
  }
}

size_t Promises::TakeBroken(LinkId link, TimePoint sent) {
  const auto found = asked_.find(link);
  if (found == asked_.end()) {
    return 0;
  }
  const size_t broken =
      std::erase_if(found->second, [sent](const auto& entry) { return entry.second < sent; });
  if (found->second.empty()) {
    asked_.erase(found);
  }
  return broken;
}

}  // namespace ruvd
