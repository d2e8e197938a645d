// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/node_id.h"
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
  // Returns SIGNATURE_INVALID unless both keys signed the statement.
  absl::Status Verify() const;
  bool operator==(const KeyRotation&) const = default;
};

// The successive public keys of one node, and the rotations that lead from each to the next one.
// It proves by itself, without an issuer, which id and epoch the present key has. It is a plain
// value.
class NodeKeys {
 public:
  // The keys of a node that never rotated. Fails with KEY_INVALID for an unusable key.
  static absl::StatusOr<NodeKeys> Begin(const PublicKey& first);
  // The keys that encoded rotations (see EncodeRotations), which may come from anyone, lead
  // through to `present`. Fails as Begin, Parse and Rotate do, with KEY_INVALID if they lead to
  // another key, and with LIMIT_EXCEEDED for more than kMaxKeyRotations, before anything is read.
  static absl::StatusOr<NodeKeys> Through(std::span<const uint8_t> rotations,
                                          const PublicKey& present);

  // Applies the next rotation. Fails with KEY_INVALID unless it leads from the present key to one
  // of the next epoch that the node never had, with SIGNATURE_INVALID unless both keys signed it,
  // and with LIMIT_EXCEEDED after kMaxKeyRotations. Applying the last rotation again changes
  // nothing.
  absl::Status Rotate(const KeyRotation& rotation);

  const NodeId& node() const { return node_; }
  uint32_t epoch() const { return static_cast<uint32_t>(rotations_.size()); }
  const PublicKey& present() const { return keys_.back(); }
  const PublicKey& Of(uint32_t epoch) const { return keys_.at(epoch); }
  // All rotations in order, KeyRotation::kBytes bytes each
  std::string EncodeRotations() const;

  // Returns the first epoch, from `least` on, whose key made the signature; nullopt if none did.
  std::optional<uint32_t> SignerOf(std::span<const uint8_t> message, const Signature& signature,
                                   uint32_t least = 0) const;

 private:
  NodeId node_{};
  std::vector<PublicKey> keys_;  // by epoch
  std::vector<KeyRotation> rotations_;
};

}  // namespace ruvd::privacy
