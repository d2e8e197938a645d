// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/actors/peer_learning.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "node/actors/round_learning.h"
#include "node/actors/update_learning.h"

namespace ruvd::actors {

void CountContributors(const federation::GossipCore& core, sharing::DpRelease& release) {
  const std::vector<federation::Member> members = core.Members();
  release.SetContributors(
      static_cast<size_t>(std::ranges::count_if(members, &federation::Member::counts)));
}

std::unique_ptr<PeerLearning> MakePeerLearning(
    const FederationActorOptions& options, sharing::OwnPatterns& own, PeerLearning::Perform perform,
    std::function<std::vector<federation::Item>()> newest) {
  if (options.rounds) {
    return std::make_unique<RoundLearning>(options, own, std::move(perform));
  }
  return std::make_unique<UpdateLearning>(options, own, std::move(perform), std::move(newest));
}

}  // namespace ruvd::actors
