// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/admission.h"
#include "privacy/identity/key_rotation.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::privacy {

// The newest key of a node that replaced its key, as the cluster's authority remembers it for ever:
// it certifies no earlier key of that node, and no other key of that epoch.
struct GrantedKey {
  uint32_t epoch = 0;
  PublicKey key{};
  int64_t former_until_ms = 0;  // from then on, earlier keys count no more (Unix time)
  bool operator==(const GrantedKey&) const = default;
};
using GrantedKeys = std::map<NodeId, GrantedKey>;

std::string EncodeGrantedKeys(const GrantedKeys& keys);
// Fails with KEY_INVALID unless the bytes are exactly what EncodeGrantedKeys returns, with at most
// kMaxGrantedKeys nodes.
absl::StatusOr<GrantedKeys> DecodeGrantedKeys(std::span<const uint8_t> bytes);

// Returns KEY_EPOCH_REFUSED if the authority granted another key of this epoch, or a later key, to
// the node. A later epoch than the granted one is taken, so the caller must know, by the
// authority's own signature, that it follows.
absl::Status RequireNewest(const GrantedKeys& keys, const NodeId& node, uint32_t epoch,
                           const PublicKey& key);
// Returns KEY_EPOCH_REFUSED unless the keys that a node shows have the granted one among them, at
// its epoch: a thief of an earlier key could else make rotations of its own.
absl::Status RequireThroughGranted(const GrantedKeys& keys, const NodeKeys& shown);

// Returns the keys that have to be on a revocation list at `now_ms`: those that count no more, but
// whose certificates may still be valid.
std::vector<EndedKeys> EndedAt(const GrantedKeys& keys, int64_t now_ms);

}  // namespace ruvd::privacy
