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
#include "federation/masked/masked_round.h"

namespace ruvd::federation {

struct MaskedRoundsConfig {
  privacy::ClusterId cluster{};
  privacy::masking::MaskLayout layout;
  privacy::NodeId self{};
  // A round begins whenever the wall clock is a multiple of this: the same on every node. Longer
  // than all attempts of a round.
  int64_t period_ms = limits::kMaskedPeriodMillis;
  int64_t keys_ms = limits::kMaskKeysMillis;
  int64_t shares_ms = limits::kMaskSharesMillis;
  int64_t attempt_ms = limits::kMaskAttemptMillis;
  privacy::dp::RandomBytes random;
};

// Who takes part in a round, ascending by id: who gave a key of the same layout in the round
// before, created until `created_until_ms`, so that all have heard of it. What gossip holds says
// so, the same to every node: who is of another tier, model or configuration says nothing, and no
// node's view of who is alive counts.
std::vector<privacy::NodeId> MaskedTakers(std::span<const Item> items, uint64_t round,
                                          const Digest& layout, int64_t created_until_ms);

// One masked round after the other, numbered by the wall clock, each of as many groups as there
// are. This node gives something in its own group at most, and follows the others. Sans I/O; not
// thread-safe.
class MaskedRounds {
 public:
  // Whether this node takes part in a round in a group of so many; asked at most once in a round.
  using TakesPart = std::function<bool(size_t members)>;

  // INVALID_ARGUMENT for times out of order or a period that is shorter than a round; errors of
  // MaskLayout::Check.
  static absl::StatusOr<MaskedRounds> Create(MaskedRoundsConfig config);

  // Whether a round is due that did not begin here yet.
  bool Due(Instant now) const;
  // Begins the round that is due. `items` are all of gossip's: those of a round that came before it
  // began here count, too. `last_reservation` is the newest that the privacy ledger says was used.
  // MaskedRoundEnded with CLIQUE_INVALID where too few take part for a group.
  MaskedSteps Begin(std::span<const Item> items, uint64_t last_reservation,
                    const TakesPart& takes_part, Instant now);
  // Takes the present round on.
  MaskedSteps OnTick(Instant now);
  // An item of any round that gossip accepted, of peers or of this node; others than of the present
  // round have no effect. Errors of MaskedRound::OnItem; CLIQUE_INVALID for one of a node that is
  // in no group, which may say that it takes part in the next round.
  absl::StatusOr<MaskedSteps> OnItem(const Item& item, Instant now);
  // Answers MaskInputWanted of a round. MASK_REUSED where it is not the present one; errors of
  // MaskedRound::Provide.
  absl::StatusOr<MaskedSteps> Provide(uint64_t round, uint8_t attempt,
                                      privacy::masking::MaskInput input, Instant now);

  // Whether only a key that this node does not use makes it take part in the next round: it gave
  // none in this one, and in its group nobody would wait for it any more.
  bool MayAnnounce(Instant now) const;
  // That key, once in a round. Its secret is forgotten at once.
  OfferMaskItem Announce();

  // As MaskedRound's, for the present round.
  void StopSharing();
  void Refuse(const privacy::NodeId& member);

  // The present round, or the last one; 0 before the first. That of every step.
  uint64_t round() const { return number_; }
  // When a round begins, Unix time in milliseconds.
  int64_t StartOf(uint64_t round) const { return static_cast<int64_t>(round) * config_.period_ms; }
  // The round that is due by the clock.
  uint64_t RoundAt(Instant now) const;

 private:
  explicit MaskedRounds(MaskedRoundsConfig config);
  absl::StatusOr<MaskedRound> BeginGroup(std::vector<privacy::NodeId> group,
                                         std::span<const Item> items, uint64_t last_reservation,
                                         const TakesPart& takes_part);
  MaskedSteps Noted(MaskedSteps steps);

  MaskedRoundsConfig config_;
  Digest layout_hash_{};
  uint64_t number_ = 0;
  std::vector<MaskedRound> groups_;             // of the present round
  std::map<privacy::NodeId, size_t> group_of_;  // of members of a group
  bool key_given_ = false;                      // by this node, in the present round
};

}  // namespace ruvd::federation
