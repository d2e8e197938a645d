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
#include "federation/masked/limits.h"
#include "federation/masked/messages.h"
#include "federation/masked/round_items.h"
#include "privacy/dp/discrete_gaussian.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/masking_session.h"

namespace ruvd::federation {

// The times of a round by the wall clock, so that nodes need no messages to agree on them. Attempt
// number a lasts from start_ms + a * attempt_ms to the beginning of the next attempt.
struct MaskedSchedule {
  int64_t start_ms = 0;  // Unix time, computed from the round, so it is the same on every node
  // Keys that arrived by then are in the set. A node whose clock differs by more is not
  int64_t keys_ms = limits::kMaskKeysMillis;
  // After this time no node signs a set, or is the first to commit to a share
  int64_t commits_ms = limits::kMaskCommitsMillis;
  // After this time no node commits, or is the first to give a share, because the share could not
  // reach all members before the attempt ends
  int64_t shares_ms = limits::kMaskSharesMillis;
  int64_t attempt_ms = limits::kMaskAttemptMillis;
};

struct MaskedRoundConfig {
  privacy::masking::MaskedSumId round;
  privacy::masking::MaskLayout layout;
  privacy::NodeId self{};
  // One group of MaskedGroups. A node that is not in it follows the round and gets its sum, too
  std::vector<privacy::NodeId> group;
  // False: this node contributes nothing, even if it is in the group, and only follows
  bool takes_part = true;
  // Whether the input can be had at once. False: this node signs no set before SetReady, so that
  // the others are charged for no share in vain while this node computes
  bool ready = true;
  MaskedSchedule schedule;
  // The newest reservation of the privacy ledger that was used; 0 if there was none
  uint64_t last_reservation = 0;
  MaskAnnouncement announcement;    // goes with every key of this node
  privacy::dp::RandomBytes random;  // for keys
};

// The sum of a set of members.
struct MaskedOutcome {
  uint8_t attempt = 0;
  privacy::masking::Clique set;
  std::vector<int32_t> units;  // in units of the layout's grid, all banks in order

  size_t weight() const { return set.members.size(); }
  // Returns the mean update of the members.
  std::vector<float> Mean(const privacy::dp::NoiseGrid& grid) const;
};

// ---- What a round asks its owner to do, in this order.

// Offer an item to gossip (GossipCore::OfferMasked).
struct OfferMaskItem {
  ItemKind kind = ItemKind::kMaskKey;
  std::string payload;
};
// All members of `set` agreed on it: add noise (NoiseUnitShare), then call SubmitInput. This is
// requested at most once in an attempt. Nothing leaves but a commitment, so it costs nothing.
struct MaskInputWanted {
  uint8_t attempt = 0;
  privacy::masking::Clique set;
};
// All members committed to their shares: charge the ledger (PayForUnitShare), then call Reveal.
// Every answer is a release with its own charge.
struct MaskPaymentWanted {
  uint8_t attempt = 0;
};
// A member made two different statements in one attempt, or gave an invalid key. It is excluded
// from this round.
struct MaskMemberRefused {
  privacy::NodeId member{};
  absl::Status status;
};
// The round is over, with or without a sum.
struct MaskedRoundEnded {
  absl::StatusOr<MaskedOutcome> outcome;
  size_t group = 0;   // number of members of the group; 0: there was no group
  bool gave = false;  // this node gave a key in the round
};
using MaskedStep = std::variant<OfferMaskItem, MaskInputWanted, MaskPaymentWanted,
                                MaskMemberRefused, MaskedRoundEnded>;
using MaskedSteps = std::vector<MaskedStep>;

// One node's view of the masked round of one group, without a server or leader. An attempt uses
// four kinds of items. Keys: every member offers a fresh key. Sets: when all keys have arrived or
// their time is over, every member signs the set of members whose keys it has. Commitments: a
// member whose set was signed by all members of the set asks for its input, masks it, and publishes
// a hash of its share. Shares: when all members of the set have committed, each pays for its share
// and gives it. Every node that has all shares of a set has the sum, whether it is a member or not.
// A share that its sender did not commit to has no effect, so no member chooses its share with a
// view to the others'.
//
// Different views cost no privacy: if sets differ, no set is signed by all its members, so no share
// is given; the attempt ends, and the next one begins with fresh keys, without the members that
// failed. A member that falls silent before it commits costs nothing, too; one that falls silent
// afterwards costs the others the charge of one share. A node masks at most once with a key, and
// the key is then wiped; a share whose attempt ends before it may leave is dropped. An impossible
// sum ends the round, because the member that caused it cannot be identified and every further
// attempt would cost a charge.
//
// The class is deterministic given its inputs and `random`; it uses no clock and no threads. Not
// thread-safe.
class MaskedRound {
 public:
  // `known` are the items that gossip holds, of any round: what this node said before a restart is
  // not said again, and what others said before the round began here counts. INVALID_ARGUMENT for a
  // group that does not have 4 to 16 members sorted by id, or a schedule out of order; also returns
  // the errors of MaskLayout::Check and MaxUnitsPerMember.
  static absl::StatusOr<MaskedRound> Begin(MaskedRoundConfig config, std::span<const Item> known);

  // Takes an item that gossip accepted; an item of this node itself changes nothing. Returns the
  // errors of MaskedRoundItems::Add; then it has no effect.
  absl::StatusOr<MaskedSteps> OnItem(const Item& item, Instant now);
  // Must be called every 100 to 500 ms.
  MaskedSteps OnTick(Instant now);
  // Answers MaskInputWanted. If the ledger would refuse, the owner does not answer, and the others
  // continue without this node. MASK_REUSED if there is no open request of that attempt;
  // UPDATE_INVALID and the other errors of MaskingSession::Mask, after which this node has no share
  // in the attempt.
  absl::StatusOr<MaskedSteps> SubmitInput(uint8_t attempt, privacy::masking::MaskInput input,
                                          Instant now);
  // Answers MaskPaymentWanted with the reservation of the ledger that paid. If the ledger refuses,
  // the owner does not answer; then the others paid in vain. MASK_REUSED if there is no open
  // request of that attempt, or the reservation is not newer than those used before.
  absl::StatusOr<MaskedSteps> Reveal(uint8_t attempt, uint64_t reservation, Instant now);

  // From now on the input can be had at once: this node signs a set in the next OnTick.
  void SetReady() { config_.ready = true; }
  // From now on this node contributes nothing, even if it was asked to, because its operator no
  // longer allows it. It continues to follow the round.
  void StopSharing();
  // A member withdrew its statements, or is no longer trusted: it is excluded from this round.
  void Refuse(const privacy::NodeId& member);

  bool ended() const { return ended_; }
  uint8_t attempt() const { return attempt_; }

 private:
  // What this node does in the current attempt.
  struct Participation {
    std::unique_ptr<privacy::masking::MaskingSession>
        session;                                  // holds the key; reset after masking
    std::optional<privacy::masking::Clique> set;  // the set that this node signed
    Digest set_hash{};
    bool asked = false;                // for its input
    std::optional<std::string> share;  // that it committed to and did not give yet
    bool asked_payment = false;
  };
  explicit MaskedRound(MaskedRoundConfig config);
  MaskedSteps Advance(Instant now);
  // Each function does what is due and nothing else.
  void BeginAttempt(Instant now, MaskedSteps& steps);
  void SignSet(Instant now, MaskedSteps& steps);
  void RequestInput(Instant now, MaskedSteps& steps);
  void RequestPayment(Instant now, MaskedSteps& steps);
  void TakeSum(MaskedSteps& steps);
  void EndAttempt();
  // Returns candidates that signed another set than most did. Either a key reached only them too
  // late, or they have another view of the group, which fresh keys would not change; the two cases
  // cannot be distinguished.
  std::set<privacy::NodeId> Dissenters(const std::set<privacy::NodeId>& failed) const;
  // Makes a statement in this node's name.
  void PublishStatement(ItemKind kind, std::string payload, MaskedSteps& steps);
  void End(absl::StatusOr<MaskedOutcome> outcome, MaskedSteps& steps);

  bool Candidate(const privacy::NodeId& id) const;
  std::vector<privacy::NodeId> Candidates() const;
  // Returns candidates whose key no other candidate gave.
  std::vector<privacy::NodeId> CandidatesWithKeys() const;
  // Returns whether a member, or each, of the set that this node signed has done something.
  template <typename Did>
  bool AnyMember(Did did) const;
  template <typename Did>
  bool EveryMember(Did did) const;
  // Adds members that failed in a set that all its members signed.
  void AddDefaulters(const privacy::masking::Clique& set, std::set<privacy::NodeId>* failed) const;
  bool Counts(const privacy::masking::Clique& set) const;
  int64_t Elapsed(Instant now) const;  // milliseconds since the current attempt began

  MaskedRoundConfig config_;
  Digest layout_hash_{};
  MaskedRoundItems items_;
  uint8_t attempt_ = 0;
  bool begun_ = false;  // whether the current attempt has begun
  Participation part_;
  std::set<Digest> own_sets_;          // hashes of the sets that this node signed in all attempts
  std::set<privacy::NodeId> dropped_;  // members that failed in an earlier attempt
  bool items_new_ = false;             // items arrived since the last search for sums
  bool gave_ = false;                  // the items contain a key of this node
  bool ended_ = false;
};

}  // namespace ruvd::federation
