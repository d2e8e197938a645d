// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/sharing/saved_reputations.h"

#include <string>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "federation/limits.h"
#include "ruvd/storage/v1/state.pb.h"
#include "storage/state/number_bytes.h"

namespace ruvd::sharing {
namespace {

absl::Status NoReputations() {
  return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
               "the saved verdicts on peers are damaged; peers are measured again");
}

}  // namespace

storage::v1::PeerReputations ToStored(std::span<const federation::ReputationTable::Known> known) {
  storage::v1::PeerReputations stored;
  for (const federation::ReputationTable::Known& one : known) {
    storage::v1::PeerReputation* const peer = stored.add_peers();
    peer->set_peer(std::string(AsText(one.peer)));
    peer->set_helped(one.helped);
    peer->set_harmed(one.harmed);
    peer->set_last_update(std::string(AsText(one.last)));
    peer->set_last_helped(one.last_helped);
    peer->set_last_harmed(one.last_harmed);
  }
  return stored;
}

absl::StatusOr<std::vector<federation::ReputationTable::Known>> FromStored(
    const storage::v1::PeerReputations& stored) {
  if (static_cast<size_t>(stored.peers_size()) > limits::kMaxMembers) {
    return NoReputations();
  }
  std::vector<federation::ReputationTable::Known> known;
  for (const storage::v1::PeerReputation& peer : stored.peers()) {
    federation::ReputationTable::Known& one = known.emplace_back();
    if (!storage::CopyTo(peer.peer(), &one.peer) ||
        !storage::CopyTo(peer.last_update(), &one.last)) {
      return NoReputations();
    }
    one.helped = peer.helped();
    one.harmed = peer.harmed();
    one.last_helped = peer.last_helped();
    one.last_harmed = peer.last_harmed();
  }
  return known;
}

absl::StatusOr<std::vector<federation::ReputationTable::Known>> LoadReputations(
    const storage::StateStore& state) {
  ASSIGN_OR_RETURN(const auto stored, state.Get(storage::state::PeerReputations()));
  return stored ? FromStored(*stored) : std::vector<federation::ReputationTable::Known>();
}

absl::Status StoreReputations(storage::StateStore& state,
                              std::span<const federation::ReputationTable::Known> known) {
  return state.Put(storage::state::PeerReputations(), ToStored(known));
}

}  // namespace ruvd::sharing
