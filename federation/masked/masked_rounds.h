// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/actions.h"
#include "federation/instant.h"
#include "federation/masked/masked_round.h"

namespace ruvd {

struct MaskedRoundsConfig {
  ClusterId cluster{};
  masking::MaskLayout layout;
  NodeId self{};
  Digest model_hash{};  // of members that can take part
  // A round begins whenever the wall clock is a multiple of this: the same on every node. Longer
  // than all attempts of a round.
  int64_t period_ms = limits::kMaskedPeriodMillis;
  int64_t keys_ms = limits::kMaskKeysMillis;
  int64_t shares_ms = limits::kMaskSharesMillis;
  int64_t attempt_ms = limits::kMaskAttemptMillis;
  dp::RandomBytes random;
};

// Members that a node counts on for a masked round, ascending by id: who is alive and may
// contribute, with the same model. Where nodes do not agree on them they have no sum.
std::vector<NodeId> MaskedMembers(std::span<const Member> members, const Digest& model_hash);

// One masked round after the other, numbered by the wall clock. Sans I/O; not thread-safe.
class MaskedRounds {
 public:
  // INVALID_ARGUMENT for times out of order or a period that is shorter than a round; errors of
  // MaskLayout::Check.
  static absl::StatusOr<MaskedRounds> Create(MaskedRoundsConfig config);

  // Begins the round that is due, once, if this node and at least three others are members, and
  // takes the present one on. `items` are all of gossip's: those of a round that came before it
  // began here count, too. `last_reservation` is the newest that the privacy ledger says was used.
  MaskedSteps OnTick(std::span<const Member> members, std::span<const Item> items,
                     uint64_t last_reservation, Instant now);
  // An item of any round that gossip accepted, of peers or of this node; others than of the present
  // round have no effect. Errors of MaskedRound::OnItem.
  absl::StatusOr<MaskedSteps> OnItem(const Item& item, Instant now);
  // Answers MaskInputWanted of a round. MASK_REUSED where it is not the present one; errors of
  // MaskedRound::Provide.
  absl::StatusOr<MaskedSteps> Provide(uint64_t round, uint8_t attempt, masking::MaskInput input,
                                      Instant now);

  // The present round, or the last one; 0 before the first. That of every step.
  uint64_t round() const { return number_; }

 private:
  explicit MaskedRounds(MaskedRoundsConfig config) : config_(std::move(config)) {}
  absl::StatusOr<MaskedRound> BeginRound(std::span<const Member> members,
                                         std::span<const Item> items, uint64_t last_reservation,
                                         uint64_t number) const;

  MaskedRoundsConfig config_;
  uint64_t number_ = 0;
  std::optional<MaskedRound> round_;
};

}  // namespace ruvd
