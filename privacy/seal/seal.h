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

// Where a sealed value belongs. All of it is authenticated, so that a value copied to another row,
// another column family or over a newer generation of its own row does not open.
struct SealContext {
  uint32_t column_family = 0;  // below kMaxSealColumnFamilies; chooses the subkey
  std::string_view key;        // the row's key
  uint32_t schema = 0;         // layout of the plaintext
  uint32_t generation = 0;     // grows when a row's key is used again
  uint64_t key_id = 0;         // number of the data key; 0 for values sealed by the node's key
};

// Subkeys derived in advance, one for each column family a store may have.
inline constexpr uint32_t kMaxSealColumnFamilies = 32;
inline constexpr size_t kSealKeyBytes = 32;
// A random nonce of 24 bytes before the ciphertext and a tag of 16 after it.
inline constexpr size_t kSealOverheadBytes = 40;

// The node key, master key of its data at rest, and what is derived from it: one subkey per column
// family (crypto_kdf, BLAKE2b), values under XChaCha20-Poly1305 with random nonces, which at 24
// bytes may be drawn without a counter (libsodium manual, "XChaCha20-Poly1305"). The secrets live
// in guarded, locked memory that is wiped when the last copy goes. Copies are cheap and share them.
// Immutable, hence thread-safe.
class SealKey {
 public:
  // Reads the 32 bytes of `path`, or creates them there with mode 0600 where the file is missing.
  // Two processes that create it at once end with the same key. KEY_FILE_MODE where group or others
  // may access the file, KEY_INVALID for another length, and the errors of base/file.h.
  static absl::StatusOr<SealKey> LoadOrCreate(const std::string& path);

  // A fresh random key, for a throw-away store.
  static SealKey Generate();

  // KEY_INVALID unless there are exactly kSealKeyBytes. `derivation` as below.
  static absl::StatusOr<SealKey> FromBytes(std::span<const uint8_t> bytes,
                                           std::string derivation = "");

  // What must be kept, in clear, to make the key from its passphrase again
  // (PassphraseParameters::Encode); empty for a key that is kept itself.
  const std::string& derivation() const;

  // nonce | ciphertext | tag: kSealOverheadBytes longer than the plaintext.
  std::string Seal(const SealContext& context, std::string_view plaintext) const;

  // SEAL_BROKEN for every value that Seal did not make with this key and context.
  absl::StatusOr<std::string> Open(const SealContext& context, std::string_view sealed) const;

 private:
  class Secrets;
  explicit SealKey(std::shared_ptr<const Secrets> secrets) : secrets_(std::move(secrets)) {}
  std::shared_ptr<const Secrets> secrets_;
};

}  // namespace ruvd::privacy
