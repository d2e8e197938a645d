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

// Returns KEY_INVALID unless `key` is the canonical encoding of a point of prime order. With keys
// of small or mixed order different libraries disagree about crafted signatures (Chalkias, Garillot
// and Nikolaenko 2020, "Taming the many EdDSAs").
absl::Status CheckPublicKey(const PublicKey& key);

// Returns whether the signature is valid. It uses only libsodium's strict Ed25519 verification: S
// and A must be canonical, and neither A nor R may be of small order. Callers must check a new key
// with CheckPublicKey. A call takes about 70 microseconds.
bool VerifySignature(const PublicKey& key, std::span<const uint8_t> message,
                     const Signature& signature);

// The purpose of a key file. A node key must never be taken for an issuer key.
enum class KeyUse : uint8_t { kNode = 1, kIssuer = 2, kRoot = 3 };

// An Ed25519 key pair (RFC 8032, deterministic signatures). The secret is wiped on destruction. It
// can be moved and is thread-safe for concurrent const use.
class SigningKey {
 public:
  // Makes a fresh key from the system's random source.
  static SigningKey Generate();
  // Returns the key of a 32-byte seed, for tests and key files.
  static SigningKey FromSeed(const KeySeed& seed);
  // Reads the key file at `path`, or creates it with mode 0600 if it does not exist. Fails with
  // KEY_FILE_MODE if other users may read or write the file, and with KEY_INVALID if it is damaged
  // or has another use.
  static absl::StatusOr<SigningKey> LoadOrCreate(const std::string& path, KeyUse use);
  // Reads the key file as LoadOrCreate does, but fails with FILE_NOT_FOUND if it does not exist.
  static absl::StatusOr<SigningKey> Load(const std::string& path, KeyUse use);
  // Writes the key file at `path` with mode 0600, in place of the one that may be there. Returns
  // the errors of WriteFileAtomically.
  absl::Status Save(const std::string& path, KeyUse use) const;

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
