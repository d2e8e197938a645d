// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/events/item.h"
#include "federation/instant.h"
#include "federation/masked/conduct.h"
#include "federation/masked/masked_round.h"
#include "federation/masked/messages.h"

namespace ruvd::federation {

struct MaskedRoundsConfig {
  privacy::ClusterId cluster{};
  privacy::masking::MaskLayout layout;
  privacy::NodeId self{};
  // A round begins whenever the wall clock is a multiple of this, so it begins at the same time on
  // every node. It must be longer than all attempts of a round
  int64_t period_ms = limits::kMaskedPeriodMillis;
  int64_t keys_ms = limits::kMaskKeysMillis;
  int64_t commits_ms = limits::kMaskCommitsMillis;
  int64_t shares_ms = limits::kMaskSharesMillis;
  int64_t attempt_ms = limits::kMaskAttemptMillis;
  // False: in each round this node signs no set before SetReady (MaskedRoundConfig::ready)
  bool ready = true;
  privacy::dp::RandomBytes random;
};

// Returns what nodes announced in `round` with a key of this layout that was created at
// `created_until_ms` or earlier, so that all nodes have received it; of several keys of a node the
// one of the lowest attempt counts. These nodes take part in the next round. The result depends
// only on the items that gossip holds, which are the same on every node. A node of another tier,
// model or configuration gives no such key, and a node's view of which members are alive does not
// matter.
std::map<privacy::NodeId, MaskAnnouncement> MaskAnnouncementsIn(std::span<const Item> items,
                                                                uint64_t round,
                                                                const Digest& layout,
                                                                int64_t created_until_ms);

// Runs one masked round after the other, numbered by the wall clock, with as many groups as needed.
// This node contributes at most in its own group, and follows the others. What members remember of
// each other (Conduct) passes from round to round in their keys, so that a restart or a newcomer
// changes nothing: it decides who is in a group, and with how many others. After a round in which
// too few for a group gave a key, each node keeps to its own memory. The class does no I/O.
// Not thread-safe.
class MaskedRounds {
 public:
  // Returns whether this node takes part in a round. `members` is the size of its group, or what
  // the size would be if no member was on probation, because probation passes. Called at most once
  // per round.
  using TakesPart = std::function<bool(size_t members)>;

  // Returns INVALID_ARGUMENT for times out of order or a period that is shorter than a round, and
  // the errors of MaskLayout::Check.
  static absl::StatusOr<MaskedRounds> Create(MaskedRoundsConfig config);

  // Returns whether a round is due that has not begun here.
  bool Due(Instant now) const;
  // Ends the current round if the clock went back by more than one round, because it was wrong
  // before or is now. The round to which it went back does not begin, and this node gives no key in
  // it; the next one begins. Returns whether the clock went back so far.
  bool GoBack(Instant now);
  // Begins the round that is due. `items` are all items of gossip, because items of the round that
  // arrived before it began here count, too. `last_reservation` is the newest reservation that was
  // used, according to the privacy ledger. The result is MaskedRoundEnded with CLIQUE_INVALID if
  // too few nodes take part to form a group, and with MASKED_ROUND_FAILED if this node is left out,
  // because it owed a share or spoiled a sum.
  MaskedSteps Begin(std::span<const Item> items, uint64_t last_reservation,
                    const TakesPart& takes_part, Instant now);
  // Advances the current round.
  MaskedSteps OnTick(Instant now);
  // Takes an item of any round that gossip accepted, of peers or of this node; only items of the
  // current round have an effect. Returns the errors of MaskedRound::OnItem, and CLIQUE_INVALID for
  // an item of a node that is in no group (its key may announce that it takes part in the next
  // round).
  absl::StatusOr<MaskedSteps> OnItem(const Item& item, Instant now);
  // Answers MaskInputWanted of a round. MASK_REUSED if it is not the current round; also returns
  // the errors of MaskedRound::SubmitInput.
  absl::StatusOr<MaskedSteps> SubmitInput(uint64_t round, uint8_t attempt,
                                          privacy::masking::MaskInput input, Instant now);
  // Answers MaskPaymentWanted of a round in the same way (MaskedRound::Reveal).
  absl::StatusOr<MaskedSteps> Reveal(uint64_t round, uint8_t attempt, uint64_t reservation,
                                     Instant now);

  // Returns whether this node needs an extra key (see Announce) to take part in the next round: it
  // gave no key in this one, and no member of its group would still wait for it.
  bool MayAnnounce(Instant now) const;
  // Makes this key, at most once in a round. Its secret part is discarded at once.
  OfferMaskItem Announce();

  // These work as in MaskedRound, for the current round.
  void SetReady();
  void StopSharing();
  void Refuse(const privacy::NodeId& member);

  // The current round, or the last one; 0 before the first round. All returned steps belong to it
  uint64_t round() const { return number_; }
  // What is remembered of members in the current round
  const Conduct& conduct() const { return conduct_; }
  // The groups of the current round; empty: too few nodes take part.
  std::vector<std::vector<privacy::NodeId>> groups() const;
  // Returns when a round begins, as Unix time in milliseconds.
  int64_t StartOf(uint64_t round) const { return static_cast<int64_t>(round) * config_.period_ms; }
  // Returns the round that is due by the clock.
  uint64_t RoundAt(Instant now) const;

 private:
  explicit MaskedRounds(MaskedRoundsConfig config);
  // Returns the groups of the current round, and remembers what led to them.
  std::vector<std::vector<privacy::NodeId>> DrawGroups(std::span<const Item> items);
  // Prepares what this node says with its keys of the current round.
  void PrepareAnnouncement();
  absl::StatusOr<MaskedRound> BeginGroup(std::vector<privacy::NodeId> group,
                                         std::span<const Item> items, uint64_t last_reservation,
                                         const TakesPart& takes_part);
  // Returns why this node is in no group; OK if it is in one, or announced nothing.
  absl::Status WhyInNoGroup() const;
  MaskedSteps RecordSteps(MaskedSteps steps);
  // Returns this node's group if this is the current round; otherwise MASK_REUSED.
  absl::StatusOr<MaskedRound*> OwnGroup(uint64_t round);

  MaskedRoundsConfig config_;
  Digest layout_hash_{};
  uint64_t number_ = 0;
  std::vector<MaskedRound> groups_;             // groups of the current round
  std::map<privacy::NodeId, size_t> group_of_;  // for members of a group
  bool key_given_ = false;                      // by this node, in the current round
  size_t announced_ = 0;     // nodes that said that they take part in the current round
  size_t participants_ = 0;  // of these, those that are not left out
  Conduct conduct_;
  Digest next_beacon_{};           // of the next round, as this node sees it
  MaskAnnouncement announcement_;  // of the current round
  // The number that `announcement_` pledges, which is secret until the next round
  Digest next_number_{};
};

}  // namespace ruvd::federation
