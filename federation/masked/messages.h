// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/events/item.h"
#include "federation/masked/conduct.h"
#include "privacy/identity/admission.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/messages.h"

namespace ruvd::federation {

// The payloads of a masked round's items: the attempt of the round, followed by a message of
// privacy/masking. docs/wire-format.md describes their bytes. A decoder accepts exactly what its
// encoder makes: UPDATE_INVALID for anything else, LIMIT_EXCEEDED for too many values.

// What a member says for the groups of later rounds. It says the same with all keys of a round.
struct MaskAnnouncement {
  Digest pledge{};  // PledgeOf the number that it reveals with its key of the next round
  Digest number{};  // pledged in the round before; zeros: none
  Digest beacon{};  // of the next round's groups (GroupBeacon), as it sees the round before
  std::vector<ConductMark> marks;  // what it remembers, ascending by member
  bool operator==(const MaskAnnouncement&) const = default;
};

// Payload of kind kMaskKey: "In this attempt I take part with this key."
struct MaskKeyItem {
  uint8_t attempt = 0;  // below kMaxMaskAttempts
  privacy::masking::MaskOffer offer;
  MaskAnnouncement announcement;
  bool operator==(const MaskKeyItem&) const = default;
};
std::string EncodeMaskKey(const MaskKeyItem& item);
absl::StatusOr<MaskKeyItem> DecodeMaskKey(std::span<const uint8_t> bytes);

// Payload of kind kMaskSet: "These are all members whose keys I have; I add up with exactly these."
struct MaskSetItem {
  uint8_t attempt = 0;
  privacy::masking::Clique clique;
  bool operator==(const MaskSetItem&) const = default;
};
std::string EncodeMaskSet(const MaskSetItem& item);
absl::StatusOr<MaskSetItem> DecodeMaskSet(std::span<const uint8_t> bytes,
                                          const privacy::ClusterId& cluster);

// Payload of kind kMaskCommitment: "All members signed this set, and I can give and pay for the
// share with this hash." It shows nothing of the share, which has a salt.
struct MaskCommitmentItem {
  uint8_t attempt = 0;
  uint64_t round = 0;
  Digest set{};     // Clique::SetHash
  Digest layout{};  // MaskLayout::Hash
  Digest share{};   // CommitmentTo the payload of the share
  bool operator==(const MaskCommitmentItem&) const = default;
};
std::string EncodeMaskCommitment(const MaskCommitmentItem& item);
absl::StatusOr<MaskCommitmentItem> DecodeMaskCommitment(std::span<const uint8_t> bytes);

// Payload of kind kMaskShare: a masked vector, which names its set by hash.
struct MaskShareItem {
  uint8_t attempt = 0;
  Digest salt{};  // random
  privacy::masking::MaskedUpdate update;
  bool operator==(const MaskShareItem&) const = default;
};
std::string EncodeMaskShare(const MaskShareItem& item);
absl::StatusOr<MaskShareItem> DecodeMaskShare(std::span<const uint8_t> bytes);
// Decodes a share that is known to decode, without its values.
absl::StatusOr<MaskShareItem> DecodeMaskShareHead(std::span<const uint8_t> bytes);

// Returns the size in bytes of the payload of a share with so many values.
uint64_t MaskShareBytes(size_t values);

// Returns the hash by which a member commits to a share with this payload.
Digest CommitmentTo(std::string_view share);

// Returns the size in bytes of the largest payload of this kind; checked before a payload is
// fetched.
uint64_t MaxMaskPayloadBytes(ItemKind kind);

// Checks an item of a masked round before a node keeps it and passes it on: it must decode, and
// belong to the round and the sender that its envelope names. UPDATE_INVALID, LIMIT_EXCEEDED,
// CLIQUE_INVALID. `kind` must be one of the four above.
absl::Status CheckMaskItem(ItemKind kind, std::string_view payload, uint64_t round,
                           const privacy::NodeId& sender);

}  // namespace ruvd::federation
