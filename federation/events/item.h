// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/envelope/envelope.h"
#include "privacy/identity/node_key.h"

namespace ruvd::federation {

// The kind of a payload.
enum class ItemKind : uint8_t {
  // 1 is not used
  kPattern = 2,
  // takes back what its sender sent before
  kWithdrawal = 3,
  // Items of a masked round (federation/masked), and kMaskCommitment
  kMaskKey = 4,
  kMaskSet = 5,
  kMaskShare = 6,
  // Items of the learner's rounds (federation/learner)
  kContribution = 7,
  kCheckpoint = 8,
  kVerdict = 9,
  kExpert = 10,  // an adapter that its sender learned
  kMaskCommitment = 11,
};

// Returns "pattern", "withdrawal", "mask_key", "mask_set", "mask_commitment", "mask_share",
// "contribution", "checkpoint", "verdict" or "expert".
std::string_view ItemKindName(ItemKind kind);
privacy::EnvelopePurpose PurposeOf(ItemKind kind);
bool IsMaskItem(ItemKind kind);
bool IsLearnerItem(ItemKind kind);

// An item whose envelope, payload hash and content were checked. Immutable and cheap to copy. To
// store it, keep `envelope` and `payload`; MakeItem restores the other fields.
struct Item {
  Digest id{};  // MessageId of the envelope
  ItemKind kind = ItemKind::kPattern;
  privacy::NodeId origin{};
  uint64_t round = 0;
  int64_t created_ms = 0;
  int64_t expires_ms = 0;
  std::shared_ptr<const privacy::Envelope> envelope;
  // Encoded SharedPattern, Withdrawal, MaskKeyItem, MaskSetItem, MaskCommitmentItem, MaskShareItem,
  // Contribution, GlobalState, Verdict or SharedExpert; never null.
  std::shared_ptr<const std::string> payload;
};

// An item of which this node has the checked manifest and not yet the whole payload.
struct IncomingItem {
  ItemKind kind = ItemKind::kPattern;
  privacy::NodeId origin{};
  int64_t created_ms = 0;
};

// Rebuilds an item from its stored parts. ENVELOPE_MALFORMED or UPDATE_INVALID if they do not
// belong together. It trusts the store, because signatures were checked before the item was
// written.
absl::StatusOr<Item> MakeItem(privacy::Envelope envelope, std::string payload);

}  // namespace ruvd::federation
