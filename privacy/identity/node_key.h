// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/identity/key_rotation.h"
#include "privacy/identity/node_id.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::privacy {

// The identity of a node: its present signing key, and the id and epoch that follow from its
// successive keys. It can be moved and is thread-safe for concurrent const use.
class NodeKey {
 public:
  static NodeKey Generate() { return NodeKey(SigningKey::Generate()); }
  // Returns the key of a seed, for tests.
  static NodeKey FromSeed(const KeySeed& seed) { return NodeKey(SigningKey::FromSeed(seed)); }
  // KEY_INVALID unless `key` is the present one of `keys`.
  static absl::StatusOr<NodeKey> Create(SigningKey key, NodeKeys keys);
  // Reads or creates a key file (see SigningKey::LoadOrCreate), and reads the rotations that led
  // to its key from the file RotationsPathOf, if there is one. Returns the errors of
  // NodeKeys::Through as well.
  static absl::StatusOr<NodeKey> LoadOrCreate(const std::string& path);
  // Returns the path of the file of rotations that belongs to a key file: "node.rotations" for
  // "node.key". A node that never rotated has no such file. It holds nothing secret.
  static std::string RotationsPathOf(const std::string& path);

  Signature Sign(std::span<const uint8_t> message) const { return key_.Sign(message); }
  // Returns whether this node made a signature, with this key or with one that it had before.
  bool HasSigned(std::span<const uint8_t> message, const Signature& signature) const {
    return keys_.SignerOf(message, signature).has_value();
  }
  const PublicKey& public_key() const { return key_.public_key(); }
  const NodeId& id() const { return keys_.node(); }
  uint32_t epoch() const { return keys_.epoch(); }
  const NodeKeys& keys() const { return keys_; }
  // Returns the statement that makes `next` the key after this one.
  KeyRotation RotateTo(const SigningKey& next, int64_t now_ms) const {
    return KeyRotation::Sign(id(), epoch() + 1, now_ms, key_, next);
  }

 private:
  explicit NodeKey(SigningKey key);
  NodeKey(SigningKey key, NodeKeys keys) : key_(std::move(key)), keys_(std::move(keys)) {}

  SigningKey key_;
  NodeKeys keys_;
};

}  // namespace ruvd::privacy
