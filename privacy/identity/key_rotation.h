// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/node_key.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::privacy {

// "My next key is this one", signed by the former key and by the next. The node's id stays. A plain
// value; docs/wire-format.md has the bytes.
struct KeyRotation {
  static constexpr size_t kBytes = 18 + 32 + 4 + 32 + 32 + 8 + 2 * sizeof(Signature);

  NodeId node{};
  uint32_t epoch = 0;  // of the next key; the first key has 0
  PublicKey former{};
  PublicKey next{};
  int64_t rotated_ms = 0;  // Unix time
  Signature former_signature{};
  Signature next_signature{};

  static KeyRotation Sign(const NodeId& node, uint32_t epoch, int64_t now_ms,
                          const SigningKey& former, const SigningKey& next);
  std::string Encode() const;
  // KEY_INVALID unless the bytes are exactly one rotation, its keys differ and can be used.
  static absl::StatusOr<KeyRotation> Parse(std::span<const uint8_t> bytes);
  bool operator==(const KeyRotation&) const = default;
};

// The keys of one node, one after another. Not thread-safe.
class NodeKeys {
 public:
  // Of a node whose first key is known. KEY_INVALID.
  static absl::StatusOr<NodeKeys> Begin(const PublicKey& first);

  // Takes the next rotation. KEY_INVALID unless it follows the present key, one epoch on;
  // SIGNATURE_INVALID unless both keys signed. The same again changes nothing.
  absl::Status Rotate(const KeyRotation& rotation);

  // The key that messages of `epoch` are verified by at `now_ms`: the present one, and the one
  // before it for kKeyOverlapMillis after the rotation. KEY_EPOCH_REFUSED for any other.
  absl::StatusOr<PublicKey> KeyOf(uint32_t epoch, int64_t now_ms) const;

  const NodeId& node() const { return node_; }
  uint32_t epoch() const { return epoch_; }
  const PublicKey& present() const { return present_; }

 private:
  NodeId node_{};
  uint32_t epoch_ = 0;
  PublicKey present_{};
  std::optional<KeyRotation> last_;
};

}  // namespace ruvd::privacy
