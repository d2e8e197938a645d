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

// A node's statement which key is its next one, signed by both the former and the next key. The
// node's id does not change. It is a plain value; docs/wire-format.md has the bytes.
struct KeyRotation {
  static constexpr size_t kBytes = 18 + 32 + 4 + 32 + 32 + 8 + 2 * sizeof(Signature);

  NodeId node{};
  uint32_t epoch = 0;  // epoch of the next key; the first key has epoch 0
  PublicKey former{};
  PublicKey next{};
  int64_t rotated_ms = 0;  // Unix time
  Signature former_signature{};
  Signature next_signature{};

  static KeyRotation Sign(const NodeId& node, uint32_t epoch, int64_t now_ms,
                          const SigningKey& former, const SigningKey& next);
  std::string Encode() const;
  // Decodes a rotation. Fails with KEY_INVALID unless the bytes are exactly one rotation between
  // two different, usable keys.
  static absl::StatusOr<KeyRotation> Parse(std::span<const uint8_t> bytes);
  bool operator==(const KeyRotation&) const = default;
};

// The successive keys of one node. Not thread-safe.
class NodeKeys {
 public:
  // Begins with the first key of a node. Fails with KEY_INVALID for an unusable key.
  static absl::StatusOr<NodeKeys> Begin(const PublicKey& first);

  // Applies the next rotation. Fails with KEY_INVALID unless it leads from the present key to the
  // next epoch, and with SIGNATURE_INVALID unless both keys signed it. Applying the last rotation
  // again changes nothing.
  absl::Status Rotate(const KeyRotation& rotation);

  // Returns the key that verifies messages of `epoch` at `now_ms`: the present key, or the former
  // key for kKeyOverlapMillis after the rotation. Fails with KEY_EPOCH_REFUSED for any other epoch.
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
