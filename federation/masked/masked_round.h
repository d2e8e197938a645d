// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/events/item.h"
#include "federation/instant.h"
#include "federation/limits.h"
#include "federation/masked/round_items.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/masking_session.h"

namespace ruvd::federation {

// When what of a round happens, by wall clocks, so that nodes need not tell each other: attempt a
// takes from start_ms + a * attempt_ms to the next one.
struct MaskedSchedule {
  int64_t start_ms = 0;  // Unix time; a function of the round, the same on every node
  // Keys that are there by then are in the set. A node whose clock differs by more is not.
  int64_t keys_ms = limits::kMaskKeysMillis;
  // After this nobody gives a share any more: it could not reach all before the attempt ends.
  int64_t shares_ms = limits::kMaskSharesMillis;
  int64_t attempt_ms = limits::kMaskAttemptMillis;
};

struct MaskedRoundConfig {
  privacy::masking::MaskRound round;
  privacy::masking::MaskLayout layout;
  privacy::NodeId self{};
  // One of MaskedGroups. A node that is not in it follows the round and gets its sum, too.
  std::vector<privacy::NodeId> group;
  // False: this node gives nothing, also where it is in the group, and only follows.
  bool takes_part = true;
  MaskedSchedule schedule;
  // The newest reservation of the privacy ledger that was used, 0 for none.
  uint64_t last_reservation = 0;
  privacy::dp::RandomBytes random;  // for keys
};

// The sum of a set: one update, of the weight of its members together.
struct MaskedOutcome {
  uint8_t attempt = 0;
  privacy::masking::Clique set;
  std::vector<int32_t> units;  // of the layout's grid, all banks in order

  size_t weight() const { return set.members.size(); }
  // The mean update of the members.
  std::vector<float> Mean(const privacy::dp::NoiseGrid& grid) const;
};

// ---- What a round asks its owner to do, in this order.

// Offer an item to gossip (GossipCore::OfferMasked).
struct OfferMaskItem {
  ItemKind kind = ItemKind::kMaskKey;
  std::string payload;
};
// All members of `set` agreed on it: charge the ledger, then noise (PrepareMaskedInput), then call
// Provide. Asked at most once in an attempt; every answer is a release with a charge of its own.
struct MaskInputWanted {
  uint8_t attempt = 0;
  privacy::masking::Clique set;
};
// A member said two things in one attempt, or gave a key that is none: no part in this round.
struct MaskMemberRefused {
  privacy::NodeId member{};
  absl::Status status;
};
// The round is over, with a sum or without.
struct MaskedRoundEnded {
  absl::StatusOr<MaskedOutcome> outcome;
  size_t group = 0;   // members that it was drawn of; 0: there was no group
  bool gave = false;  // this node gave a key in it
};
using MaskedStep =
    std::variant<OfferMaskItem, MaskInputWanted, MaskMemberRefused, MaskedRoundEnded>;
using MaskedSteps = std::vector<MaskedStep>;

// One node's view of the masked round of one group, without a server or leader. An attempt goes
// through three kinds of items. Keys: every member offers a fresh one. Sets: when all keys are
// there or their time is over, every member signs the set of those whose keys it has. Shares: a
// member whose set was signed by every member of it asks for its input and gives its masked share,
// which names the set. Who has all shares of a set has the sum, members and others alike.
//
// Views that differ cost no privacy: sets that differ are not signed by all, so that no share is
// given; the attempt ends and the next one begins with fresh keys, without those who failed. Who
// fell silent after all had agreed costs the others the charge of one share. A node masks at most
// once with a key, which is wiped then. A sum that cannot be one ends the round: who lied cannot be
// told, and every further attempt would cost a charge.
//
// Deterministic given its inputs and `random`; no clock, no threads. Not thread-safe.
class MaskedRound {
 public:
  // `known` are the items that gossip holds, of any round: what this node said in an earlier life
  // is not said again, and what others said before the round began here counts. INVALID_ARGUMENT
  // for a group that is not of 4 to 16 members ascending by id or a schedule out of order; errors
  // of MaskLayout::Check and MostUnitsOfOne.
  static absl::StatusOr<MaskedRound> Begin(MaskedRoundConfig config, std::span<const Item> known);

  // An item that gossip accepted; one of this node's own changes nothing. Errors of
  // MaskedRoundItems::Add, without effect.
  absl::StatusOr<MaskedSteps> OnItem(const Item& item, Instant now);
  // Call every 100 to 500 ms.
  MaskedSteps OnTick(Instant now);
  // Answers MaskInputWanted. An owner whose ledger refuses does not answer: the others go on
  // without this node. MASK_REUSED without an open question of that attempt; UPDATE_INVALID and
  // other errors of MaskingSession::Mask, after which the attempt has no share of this node.
  absl::StatusOr<MaskedSteps> Provide(uint8_t attempt, privacy::masking::MaskInput input,
                                      Instant now);

  // This node gives nothing more, whatever it was asked for: its operator allows it no longer. It
  // goes on to follow.
  void StopSharing();
  // A member took back what it said, or is listened to no more: no part in this round.
  void Refuse(const privacy::NodeId& member);

  bool ended() const { return ended_; }
  uint8_t attempt() const { return attempt_; }

 private:
  // What this node does in the present attempt.
  struct Part {
    std::unique_ptr<privacy::masking::MaskingSession>
        session;                                  // with the key; gone once it has masked
    std::optional<privacy::masking::Clique> set;  // that it signed
    Digest set_hash{};
    bool asked = false;
  };
  explicit MaskedRound(MaskedRoundConfig config);
  MaskedSteps Advance(Instant now);
  // Each does what is due and nothing else.
  void BeginAttempt(Instant now, MaskedSteps& steps);
  void SignSet(Instant now, MaskedSteps& steps);
  void AskForInput(Instant now, MaskedSteps& steps);
  void TakeSum(MaskedSteps& steps);
  void EndAttempt();
  // Candidates that signed another set than most did: a key that was late for them alone cannot be
  // told from another view of the group, which fresh keys would not mend.
  std::set<privacy::NodeId> Dissenters(const std::set<privacy::NodeId>& failed) const;
  // Says something in this node's name.
  void Say(ItemKind kind, std::string payload, MaskedSteps& steps);
  void End(absl::StatusOr<MaskedOutcome> outcome, MaskedSteps& steps);

  bool Candidate(const privacy::NodeId& id) const;
  std::vector<privacy::NodeId> Candidates() const;
  // Candidates with a key that nobody else gave.
  std::vector<privacy::NodeId> WithKeys() const;
  bool Agreed() const;
  bool Counts(const privacy::masking::Clique& set) const;
  int64_t Elapsed(Instant now) const;  // ms of the present attempt

  MaskedRoundConfig config_;
  Digest layout_hash_{};
  MaskedRoundItems items_;
  uint8_t attempt_ = 0;
  bool begun_ = false;  // the present attempt
  Part part_;
  std::set<Digest> own_sets_;          // hashes of sets that this node signed, of all attempts
  std::set<privacy::NodeId> dropped_;  // failed in an earlier attempt
  bool items_new_ = false;             // since sums were looked for
  bool gave_ = false;                  // a key of this node is among the items
  bool ended_ = false;
};

}  // namespace ruvd::federation
