// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "privacy/seal/seal.h"

namespace ruvd::privacy {

// A random key of 32 bytes that seals the values of one scope (a column family, a collection, a
// user): destroying it makes them all unreadable. It is stored only wrapped, that is, sealed by the
// node's SealKey. It lives in locked memory that is wiped when the last copy is destroyed; copies
// are cheap and share the memory. It is immutable and so thread-safe.
class DataKey {
 public:
  static DataKey Generate();
  // Fails with KEY_INVALID unless there are exactly kSealKeyBytes bytes.
  static absl::StatusOr<DataKey> FromBytes(std::span<const uint8_t> bytes);

  // Appends nonce | ciphertext | tag to `out`. The context must contain this key's number.
  void AppendSealed(const SealContext& context, std::string_view plaintext, std::string* out) const;
  // Returns the plaintext. Fails with SEAL_BROKEN for bytes that this key did not seal for this
  // context.
  absl::StatusOr<std::string> Open(const SealContext& context, std::string_view sealed) const;

  // Returns the secret itself, for wrapping it. The caller must wipe its copies.
  std::span<const uint8_t> bytes() const { return {slot_.get(), kSealKeyBytes}; }

 private:
  explicit DataKey(std::shared_ptr<const uint8_t> slot) : slot_(std::move(slot)) {}
  std::shared_ptr<const uint8_t> slot_;
};

}  // namespace ruvd::privacy
