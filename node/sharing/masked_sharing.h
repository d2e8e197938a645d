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
#include "node/sharing/masked_view.h"
#include "node/sharing/shared_items.h"
#include "node/sharing/update_layout.h"
#include "storage/consent/consent_book.h"

namespace ruvd::sharing {

struct MaskedSharingOptions {
  // Between the beginnings of two rounds; their times are shares of it. Equal on all nodes.
  Duration period{};
  privacy::ClusterId cluster{};
  privacy::NodeId self{};
  UpdateLayout layout;  // its frame outlives this
  // What this node would share under the tier `masked` (OwnPatterns::NextDelta).
  std::function<absl::StatusOr<OwnCores>(federation::Instant)> next_update;
  DpRelease* release = nullptr;                    // outlives this; pays for shares
  const storage::ConsentBook* consents = nullptr;  // outlives this; null: nothing leaves
  MaskedMeansFile file;
  privacy::dp::RandomBytes random;
};

// A node's part in masked rounds: follows those of all groups and holds the means of their sums,
// under whatever tier; takes part under the tier `masked`, as long as its operator's consent is
// older than the round, users agree, the ledger pays and its update is another than in the sum that
// it is part of. A refusal is noted as DpRelease's are, and gives nothing.
//
// What was said before a restart is among the items that gossip restores, so it is not said again
// otherwise. Not thread-safe: the federation actor owns it.
class MaskedSharing {
 public:
  // Goes on with the means that an earlier life kept. Where figures make no sums it follows none,
  // which is said in the log once.
  explicit MaskedSharing(MaskedSharingOptions options);

  // An item that gossip accepted; for the next OnTick.
  void OnItem(const federation::Item& item);
  // A member took an item back, or is listened to no more: if it is of a masked round, it has no
  // part in the present one. Means that it is in stay.
  void OnWithdrawn(const federation::Item& item);
  // Takes rounds on: whatever they ask for is done, and what `core` has to send is returned. Call
  // it every 100 to 500 ms. `consent_since_ms`: when the operator chose the core's tier.
  federation::Actions OnTick(federation::GossipCore& core, int64_t consent_since_ms,
                             federation::Instant now);

  // Whether other means count than when it was asked last.
  bool TakeChanged() { return std::exchange(changed_, false); }
  // A member of a mean that counted, and does no more since the member is revoked or proven to have
  // lied: what was made of it is made anew without it. Once; nullopt: there is none.
  std::optional<privacy::NodeId> TakeExpelled() { return std::exchange(expelled_, std::nullopt); }
  const MaskedMeanList& means() const { return means_.all(); }
  MaskedView View() const;

 private:
  // Of one call.
  struct Turn {
    federation::GossipCore& core;
    int64_t consent_since_ms;
    federation::Instant now;
    federation::Actions actions = {};
  };
  void Load();
  void DropExpelled(const federation::GossipCore& core);
  void Save();
  void Follow(Turn& turn);
  void Announce(Turn& turn);
  void Perform(federation::MaskedSteps steps, Turn& turn);
  void Offer(federation::OfferMaskItem offer, Turn& turn);
  // Charges for this node's share and gives it, or notes why not.
  absl::StatusOr<federation::MaskedSteps> Answer(const federation::MaskInputWanted& wanted,
                                                 Turn& turn);
  void End(federation::MaskedRoundEnded ended, Turn& turn);
  void Take(const federation::MaskedOutcome& outcome, federation::Instant now);
  // Whether this node would give something in a group of so many; notes why not.
  bool TakesPart(size_t members, Turn& turn);
  absl::Status MayTakePart(size_t members, Turn& turn, bool* refusal) const;

  const MaskedSharingOptions options_;
  privacy::masking::MaskLayout layout_;
  std::optional<federation::MaskedRounds> rounds_;  // none: no figures for them
  MaskedMeans means_;
  bool changed_ = false;
  std::optional<privacy::NodeId> expelled_;
  std::vector<federation::Item> inbox_;
  int64_t consent_since_ms_ = 0;  // of the turn before
  int64_t next_look_ms_ = 0;      // whether to announce
  // Own patterns that the shares of the present round are of, by attempt.
  std::map<uint8_t, std::map<storage::PatternId, int64_t>> given_;
  uint64_t own_round_ = 0;  // the last one that ended in which this node gave a key
  absl::Status no_group_;   // why the present round has none; OK: it has, or none began
  MaskedView view_;
};

}  // namespace ruvd::sharing
