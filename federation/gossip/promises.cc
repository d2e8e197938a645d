// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/promises.h"

#include "federation/limits.h"
#include "federation/membership/score_limits.h"

namespace ruvd::federation {

void Promises::RecordRequest(LinkId link, const Request& request, TimePoint now) {
  std::map<Request, TimePoint>& asked = asked_[link];
  if (asked.size() < limits::kMaxPromisesPerLink || asked.contains(request)) {
    asked.try_emplace(request, now);
  }
}

bool Promises::RecordAnswer(LinkId link, const Request& request) {
  const auto found = asked_.find(link);
  if (found == asked_.end() || found->second.erase(request) == 0) {
    return false;
  }
  if (found->second.empty()) {
    asked_.erase(found);
  }
  return true;
}

std::vector<Digest> Promises::TakeBrokenPromises(LinkId link, TimePoint sent) {
  std::vector<Digest> broken;
  const auto found = asked_.find(link);
  if (found == asked_.end()) {
    return broken;
  }
  std::erase_if(found->second, [&](const auto& entry) {
    if (entry.second < sent) {
      broken.push_back(entry.first.id);
    }
    return entry.second < sent;
  });
  if (found->second.empty()) {
    asked_.erase(found);
  }
  return broken;
}

}  // namespace ruvd::federation
