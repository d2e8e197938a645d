// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/core/gossip_core.h"
#include "federation/masked/masked_rounds.h"
#include "node/sharing/dp_release.h"
#include "node/sharing/masked_means.h"
#include "node/sharing/shared_items.h"
#include "node/sharing/update_layout.h"
#include "ruvd/admin/v1/admin.pb.h"
#include "storage/consent/consent_book.h"

namespace ruvd::sharing {

struct MaskedSharingOptions {
  // Time between the starts of two rounds; the phases of a round are fractions of it. Equal on all
  // nodes.
  Duration period{};
  privacy::ClusterId cluster{};
  privacy::NodeId self{};
  UpdateLayout layout;  // its frame must outlive this object
  // Returns the update that this node would share under the tier `masked` (OwnPatterns::NextDelta).
  std::function<absl::StatusOr<OwnCores>(federation::Instant)> next_update;
  DpRelease* release = nullptr;                    // must outlive this object; charges for shares
  const storage::ConsentBook* consents = nullptr;  // must outlive this object; null: nothing leaves
  storage::StateStore* state = nullptr;  // keeps the means; null: they are lost at a restart
  privacy::dp::RandomBytes random;
};

// A node's part in masked rounds. Under any tier it follows the rounds of all groups and keeps the
// means of their sums. Under the tier `masked` it takes part in a round if the operator's consent
// is older than the round, users agree, the budget suffices, and its update differs from the one in
// its present sum. A refusal is noted as in DpRelease, and the node then gives nothing.
//
// Gossip restores this node's items from before a restart, so the node does not send contradicting
// ones. Not thread-safe: the federation actor owns it.
class MaskedSharing {
 public:
  // Continues with the saved means. If the options allow no sums, it follows no rounds and logs
  // that once.
  explicit MaskedSharing(MaskedSharingOptions options);

  // Takes an item that gossip accepted, for the next OnTick.
  void OnItem(const federation::Item& item);
  // Handles an item that its member withdrew, or whose member is no longer trusted. If it belongs
  // to the present masked round, the member leaves the round. Means with that member stay.
  void OnWithdrawn(const federation::Item& item);
  // Advances the rounds: carries out their steps and returns what `core` has to send. Call it every
  // 100 to 500 ms. `consent_since_ms` is the time at which the operator chose the core's tier.
  federation::Actions OnTick(federation::GossipCore& core, int64_t consent_since_ms,
                             federation::Instant now);

  // Returns whether the means in use changed since the last call.
  bool TakeChanged() { return std::exchange(changed_, false); }
  // Returns, once, a member that was revoked or proven to have lied and whose mean was in use until
  // then: what was made from the mean must be rebuilt without it. nullopt if there is no such
  // member.
  std::optional<privacy::NodeId> TakeExpelled() { return std::exchange(expelled_, std::nullopt); }
  const MaskedMeanList& means() const { return means_.all(); }
  // Returns the masked rounds as the operator sees them.
  admin::v1::MaskedStatus View() const;

 private:
  // The state of one call.
  struct TickContext {
    federation::GossipCore& core;
    int64_t consent_since_ms;
    federation::Instant now;
    federation::Actions actions = {};
  };
  void Load();
  void DropExpelled(const federation::GossipCore& core);
  void Save();
  void Follow(TickContext& turn);
  void Announce(TickContext& turn);
  void Perform(federation::MaskedSteps steps, TickContext& turn);
  void Offer(federation::OfferMaskItem offer, TickContext& turn);
  // Charges for this node's share and returns it, or notes why not.
  absl::StatusOr<federation::MaskedSteps> Answer(const federation::MaskInputWanted& wanted,
                                                 TickContext& turn);
  void End(federation::MaskedRoundEnded ended, TickContext& turn);
  void Take(const federation::MaskedOutcome& outcome, federation::Instant now);
  // Returns whether this node would take part in a group of `members` nodes; notes why not.
  bool Participates(size_t members, TickContext& turn);
  absl::Status CheckMayParticipate(size_t members, TickContext& turn, bool* refusal) const;

  const MaskedSharingOptions options_;
  privacy::masking::MaskLayout layout_;
  std::optional<federation::MaskedRounds> rounds_;  // nullopt: the options allow no rounds
  MaskedMeans means_;
  bool changed_ = false;
  std::optional<privacy::NodeId> expelled_;
  std::vector<federation::Item> inbox_;
  int64_t consent_since_ms_ = 0;  // of the previous turn
  int64_t next_look_ms_ = 0;      // time of the next check whether to announce
  // Own patterns in the shares of the present round, by attempt.
  std::map<uint8_t, std::map<storage::PatternId, int64_t>> given_;
  uint64_t own_round_ = 0;  // the last finished round in which this node gave a key
  absl::Status no_group_;   // why the present round has no group for this node; OK: it has one, or
                            // no round began
  absl::Status waits_;      // why this node takes part in no round; OK: it does or announced it
  admin::v1::MaskedStatus view_;  // its fields about the last round
};

}  // namespace ruvd::sharing
