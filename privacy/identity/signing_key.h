// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ruvd::privacy {

using PublicKey = std::array<uint8_t, 32>;
using Signature = std::array<uint8_t, 64>;
using KeySeed = std::array<uint8_t, 32>;

// KEY_INVALID unless `key` is the canonical encoding of a point of prime order: small-order and
// mixed-order keys verify crafted signatures differently in different libraries (speccheck).
absl::Status CheckPublicKey(const PublicKey& key);

// Strict Ed25519 verification by libsodium only: canonical S, canonical A, neither A nor R of small
// order. Callers check the key by CheckPublicKey when they first meet it. About 70 us.
bool VerifySignature(const PublicKey& key, std::span<const uint8_t> message,
                     const Signature& signature);

// What a key file is for. A node key must never pass for an issuer key.
enum class KeyUse : uint8_t { kNode = 1, kIssuer = 2 };

// An Ed25519 key pair (RFC 8032, deterministic signatures). The secret is wiped on destruction.
// Movable; thread-safe for concurrent const use.
class SigningKey {
 public:
  // A fresh key from the system's random source.
  static SigningKey Generate();
  // The key of a 32-byte seed, for tests and key files.
  static SigningKey FromSeed(const KeySeed& seed);
  // Reads the key at `path`, or makes one there with mode 0600 when nothing is there. A file that
  // others may read or write gives KEY_FILE_MODE, a damaged one or one of another use KEY_INVALID.
  static absl::StatusOr<SigningKey> LoadOrCreate(const std::string& path, KeyUse use);
  // As LoadOrCreate, but a missing file is FILE_NOT_FOUND.
  static absl::StatusOr<SigningKey> Load(const std::string& path, KeyUse use);

  Signature Sign(std::span<const uint8_t> message) const;
  const PublicKey& public_key() const { return public_key_; }

 private:
  struct Secret;
  struct WipeSecret {
    void operator()(Secret* secret) const;
  };
  SigningKey() = default;
  std::string EncodeFile(KeyUse use) const;

  PublicKey public_key_{};
  std::unique_ptr<Secret, WipeSecret> secret_;
};

}  // namespace ruvd::privacy
