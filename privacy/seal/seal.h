// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ruvd::privacy {

// Where a sealed value belongs. All fields are authenticated. So a value does not open if it was
// copied to another row or column family, or over a newer generation of its own row.
struct SealContext {
  uint32_t column_family = 0;  // below kMaxSealColumnFamilies; chooses the subkey
  std::string_view key;        // the row's key
  uint32_t schema = 0;         // layout of the plaintext
  uint32_t generation = 0;     // increases when a row's key is used again
  uint64_t key_id = 0;         // number of the data key; 0 for values sealed by the SealKey
};

// How many subkeys are derived in advance, one for each column family that a store may have
inline constexpr uint32_t kMaxSealColumnFamilies = 32;
inline constexpr size_t kSealKeyBytes = 32;
// A random nonce of 24 bytes precedes the ciphertext, and a tag of 16 bytes follows it.
inline constexpr size_t kSealOverheadBytes = 40;

// The node's master key for data at rest. One subkey is derived from it for each column family
// (crypto_kdf, BLAKE2b). Values are sealed with XChaCha20-Poly1305 and random nonces; nonces of 24
// bytes need no counter (libsodium manual, "XChaCha20-Poly1305"). The secrets live in guarded,
// locked memory that is wiped when the last copy is destroyed; copies are cheap and share the
// memory. It is immutable and so thread-safe.
class SealKey {
 public:
  // Reads the 32 bytes of `path`, or creates the file with mode 0600 if it does not exist. Two
  // processes that create it at once get the same key. Fails with KEY_FILE_MODE if group or others
  // may access the file, with KEY_INVALID for another length, and with the errors of base/file.h.
  static absl::StatusOr<SealKey> LoadOrCreate(const std::string& path);

  // Makes a fresh random key, for a temporary store.
  static SealKey Generate();

  // Fails with KEY_INVALID unless there are exactly kSealKeyBytes bytes. For `derivation` see
  // below.
  static absl::StatusOr<SealKey> FromBytes(std::span<const uint8_t> bytes,
                                           std::string derivation = "");

  // Returns what must be stored in clear to derive the key from its passphrase again
  // (PassphraseParameters::Encode); empty for a key that is stored itself.
  const std::string& derivation() const;

  // Returns nonce | ciphertext | tag, which is kSealOverheadBytes longer than the plaintext.
  std::string Seal(const SealContext& context, std::string_view plaintext) const;

  // Returns the plaintext. Fails with SEAL_BROKEN for a value that Seal did not make with this key
  // and context.
  absl::StatusOr<std::string> Open(const SealContext& context, std::string_view sealed) const;

 private:
  class Secrets;
  explicit SealKey(std::shared_ptr<const Secrets> secrets) : secrets_(std::move(secrets)) {}
  std::shared_ptr<const Secrets> secrets_;
};

}  // namespace ruvd::privacy
