// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "federation/events/item.h"
#include "privacy/identity/admission.h"
#include "privacy/masking/clique.h"
#include "privacy/masking/messages.h"

namespace ruvd::federation {

// The payloads of a masked round's items: which attempt of the round, then a message of
// privacy/masking. docs/wire-format.md has their bytes. A decoder takes exactly what its encoder
// makes: UPDATE_INVALID for anything else, LIMIT_EXCEEDED for too many values.

// "In this attempt I take part with this key." Of kind kMaskKey.
struct MaskKeyItem {
  uint8_t attempt = 0;  // below kMaxMaskAttempts
  privacy::masking::MaskOffer offer;
  bool operator==(const MaskKeyItem&) const = default;
};
std::string EncodeMaskKey(const MaskKeyItem& item);
absl::StatusOr<MaskKeyItem> DecodeMaskKey(std::span<const uint8_t> bytes);

// "These are all whose keys I have: I add up with them, or not at all." Of kind kMaskSet.
struct MaskSetItem {
  uint8_t attempt = 0;
  privacy::masking::Clique clique;
  bool operator==(const MaskSetItem&) const = default;
};
std::string EncodeMaskSet(const MaskSetItem& item);
absl::StatusOr<MaskSetItem> DecodeMaskSet(std::span<const uint8_t> bytes,
                                          const privacy::ClusterId& cluster);

// A masked vector, which names its set by hash. Of kind kMaskShare.
struct MaskShareItem {
  uint8_t attempt = 0;
  privacy::masking::MaskedUpdate update;
  bool operator==(const MaskShareItem&) const = default;
};
std::string EncodeMaskShare(const MaskShareItem& item);
absl::StatusOr<MaskShareItem> DecodeMaskShare(std::span<const uint8_t> bytes);

// Bytes of the largest payload of a kind of a masked round: looked at before any of it is fetched.
uint64_t MaxMaskPayloadBytes(ItemKind kind);

// What a node checks before it keeps an item of a masked round and passes it on: that it decodes
// and is of the round and the sender that its envelope names. UPDATE_INVALID, LIMIT_EXCEEDED,
// CLIQUE_INVALID. `kind` is one of the three above.
absl::Status CheckMaskItem(ItemKind kind, std::string_view payload, uint64_t round,
                           const privacy::NodeId& sender);

}  // namespace ruvd::federation
