// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/seal.h"

#include <sodium.h>

#include <array>
#include <cstring>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd {
namespace {

constexpr size_t kNonceBytes = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTagBytes = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr char kKdfContext[crypto_kdf_CONTEXTBYTES + 1] = "ruvdseal";

static_assert(kSealKeyBytes == crypto_kdf_KEYBYTES);
static_assert(kSealKeyBytes == crypto_aead_xchacha20poly1305_ietf_KEYBYTES);
static_assert(kSealOverheadBytes == kNonceBytes + kTagBytes);

// The key is length-prefixed, so no two contexts give the same bytes.
std::string AssociatedData(const SealContext& context) {
  return ByteWriter()
      .Write(context.column_family)
      .Write(static_cast<uint32_t>(context.key.size()))
      .WriteText(context.key)
      .Write(context.schema)
      .Write(context.generation)
      .Take();
}

absl::Status Broken(const SealContext& context) {
  return Error(absl::StatusCode::kDataLoss, reasons::kSealBroken,
               "sealed value of column family {}, key {} does not open: it is damaged, was moved, "
               "or belongs to another seal key; restore the key file or the store from a backup",
               context.column_family, ToHex(AsBytes(context.key)));
}

}  // namespace

// One guarded allocation: the subkeys of all column families. The master key itself is not kept.
class SealKey::Secrets {
 public:
  explicit Secrets(std::span<const uint8_t> master) {
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

  const uint8_t* subkey(uint32_t column_family) const {
    RUVD_CHECK(column_family < kMaxSealColumnFamilies);
    return memory_ + column_family * kSealKeyBytes;
  }

 private:
  uint8_t* memory_ = nullptr;
};

SealKey SealKey::Generate() {
  std::array<uint8_t, kSealKeyBytes> master;
  SecureRandomBytes(master);
  SealKey key(std::make_shared<const Secrets>(master));
  SecureWipe(master);
  return key;
}

absl::StatusOr<SealKey> SealKey::FromBytes(std::span<const uint8_t> bytes) {
  if (bytes.size() != kSealKeyBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
                 "a seal key has {} bytes, not {}; restore the key file from its backup",
                 kSealKeyBytes, bytes.size());
  }
  return SealKey(std::make_shared<const Secrets>(bytes));
}

std::string SealKey::Seal(const SealContext& context, std::string_view plaintext) const {
  const std::string data = AssociatedData(context);
  std::string out(kSealOverheadBytes + plaintext.size(), '\0');
  auto* bytes = reinterpret_cast<uint8_t*>(out.data());
  randombytes_buf(bytes, kNonceBytes);
  crypto_aead_xchacha20poly1305_ietf_encrypt(
      bytes + kNonceBytes, nullptr, AsBytes(plaintext).data(), plaintext.size(),
      AsBytes(data).data(), data.size(), nullptr, bytes, secrets_->subkey(context.column_family));
  return out;
}

absl::StatusOr<std::string> SealKey::Open(const SealContext& context,
                                          std::string_view sealed) const {
  if (sealed.size() < kSealOverheadBytes) {
    return Broken(context);
  }
  const std::string data = AssociatedData(context);
  const uint8_t* bytes = AsBytes(sealed).data();
  std::string out(sealed.size() - kSealOverheadBytes, '\0');
  if (crypto_aead_xchacha20poly1305_ietf_decrypt(
          reinterpret_cast<uint8_t*>(out.data()), nullptr, nullptr, bytes + kNonceBytes,
          sealed.size() - kNonceBytes, AsBytes(data).data(), data.size(), bytes,
          secrets_->subkey(context.column_family)) != 0) {
    return Broken(context);
  }
  return out;
}

}  // namespace ruvd
