// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "federation/gossip/state_comparison.h"

#include <algorithm>

#include "federation/limits.h"

namespace ruvd::federation {

bool StateComparison::Compare(Peer& peer) const {
  if (!own_ || !peer.said || own_->round != peer.said->round) {
    return false;
  }
  peer.agreement = *own_ == *peer.said ? StateAgreement::kEqual : StateAgreement::kDiffers;
  return true;
}

void StateComparison::SetOwn(const StateDigest& own) {
  if (own_ == own) {
    return;
  }
  own_ = own;
  asked_.clear();
  for (auto& [id, peer] : peers_) {
    Compare(peer);
  }
}

bool StateComparison::OnSaid(const privacy::NodeId& id, const std::optional<StateDigest>& said) {
  Peer& peer = peers_[id];
  peer.said = said;
  if (!Compare(peer)) {
    if (!own_ || !said ||
        std::max(own_->round, said->round) - std::min(own_->round, said->round) > 1) {
      peer.agreement = StateAgreement::kUnknown;
    }
    return false;
  }
  return peer.agreement == StateAgreement::kDiffers && asked_.size() < limits::kMaxStateExchanges &&
         asked_.insert(id).second;
}

StateAgreement StateComparison::Of(const privacy::NodeId& id) const {
  const auto peer = peers_.find(id);
  return peer == peers_.end() ? StateAgreement::kUnknown : peer->second.agreement;
}

}  // namespace ruvd::federation
