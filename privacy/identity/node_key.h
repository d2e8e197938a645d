// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::privacy {

// The permanent name of a node: SHA-256("RUVDLLM-NODE-v1\0" || its first public key).
using NodeId = Digest;

NodeId NodeIdOf(const PublicKey& key);

// The identity of a node: a signing key and the id that follows from it. It can be moved and is
// thread-safe for concurrent const use.
class NodeKey {
 public:
  static NodeKey Generate() { return NodeKey(SigningKey::Generate()); }
  // Returns the key of a seed, for tests.
  static NodeKey FromSeed(const KeySeed& seed) { return NodeKey(SigningKey::FromSeed(seed)); }
  // Reads or creates a key file: see SigningKey::LoadOrCreate.
  static absl::StatusOr<NodeKey> LoadOrCreate(const std::string& path);

  Signature Sign(std::span<const uint8_t> message) const { return key_.Sign(message); }
  const PublicKey& public_key() const { return key_.public_key(); }
  const NodeId& id() const { return id_; }

 private:
  explicit NodeKey(SigningKey key) : key_(std::move(key)), id_(NodeIdOf(key_.public_key())) {}

  SigningKey key_;
  NodeId id_;
};

}  // namespace ruvd::privacy
