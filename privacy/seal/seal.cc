// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/seal.h"

#include <sodium.h>

#include <array>
#include <utility>

#include "base/reasons.h"
#include "base/status.h"
#include "privacy/seal/aead.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {
namespace {

constexpr char kKdfContext[crypto_kdf_CONTEXTBYTES + 1] = "ruvdseal";

static_assert(kSealKeyBytes == crypto_kdf_KEYBYTES);

}  // namespace

// One guarded allocation with the subkeys of all column families. The master key itself is not
// kept.
class SealKey::Secrets {
 public:
  Secrets(std::span<const uint8_t> master, std::string derivation)
      : derivation_(std::move(derivation)) {
    InitSodium();
    memory_ = static_cast<uint8_t*>(sodium_malloc(kMaxSealColumnFamilies * kSealKeyBytes));
    RUVD_CHECK(memory_ != nullptr);
    for (uint32_t i = 0; i < kMaxSealColumnFamilies; ++i) {
      crypto_kdf_derive_from_key(memory_ + i * kSealKeyBytes, kSealKeyBytes, i, kKdfContext,
                                 master.data());
    }
    sodium_mprotect_readonly(memory_);
  }
  ~Secrets() { sodium_free(memory_); }
  Secrets(const Secrets&) = delete;
  Secrets& operator=(const Secrets&) = delete;

  const std::string& derivation() const { return derivation_; }
  const uint8_t* subkey(uint32_t column_family) const {
    RUVD_CHECK(column_family < kMaxSealColumnFamilies);
    return memory_ + column_family * kSealKeyBytes;
  }

 private:
  const std::string derivation_;
  uint8_t* memory_ = nullptr;
};

SealKey SealKey::Generate() {
  std::array<uint8_t, kSealKeyBytes> master;
  SecureRandomBytes(master);
  SealKey key(std::make_shared<const Secrets>(master, ""));
  SecureWipe(master);
  return key;
}

absl::StatusOr<SealKey> SealKey::FromBytes(std::span<const uint8_t> bytes, std::string derivation) {
  if (bytes.size() != kSealKeyBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
                 "a seal key must have {} bytes, not {}; restore the key file from its backup",
                 kSealKeyBytes, bytes.size());
  }
  return SealKey(std::make_shared<const Secrets>(bytes, std::move(derivation)));
}

const std::string& SealKey::derivation() const {
  return secrets_->derivation();
}

std::string SealKey::Seal(const SealContext& context, std::string_view plaintext) const {
  std::string out;
  seal::AppendSealed(secrets_->subkey(context.column_family), context, plaintext, &out);
  return out;
}

absl::StatusOr<std::string> SealKey::Open(const SealContext& context,
                                          std::string_view sealed) const {
  return seal::OpenSealed(secrets_->subkey(context.column_family), context, sealed);
}

}  // namespace ruvd::privacy
