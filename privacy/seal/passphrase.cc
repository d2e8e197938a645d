// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/passphrase.h"

#include <sodium.h>

#include "base/bytes.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kMagic = "RUVDKDF1";
constexpr uint32_t kArgon2id = crypto_pwhash_ALG_ARGON2ID13;

static_assert(kArgon2id == 2);
static_assert(crypto_pwhash_SALTBYTES == 16);

bool WithinLimits(const PassphraseParameters& parameters) {
  return parameters.passes >= limits::kMinPassphrasePasses &&
         parameters.passes <= limits::kMaxPassphrasePasses &&
         parameters.memory_bytes >= limits::kMinPassphraseMemoryBytes &&
         parameters.memory_bytes <= limits::kMaxPassphraseMemoryBytes;
}

}  // namespace

PassphraseParameters PassphraseParameters::Generate() {
  PassphraseParameters parameters;
  SecureRandomBytes(parameters.salt);
  return parameters;
}

std::string PassphraseParameters::Encode() const {
  return ByteWriter()
      .WriteText(kMagic)
      .Write(kArgon2id)
      .Write(passes)
      .Write(memory_bytes)
      .WriteBytes(salt)
      .Take();
}

absl::StatusOr<PassphraseParameters> PassphraseParameters::Decode(std::string_view bytes) {
  ByteReader reader(AsBytes(bytes));
  const auto magic = reader.ReadBytes(kMagic.size());
  const auto algorithm = reader.Read<uint32_t>();
  const auto passes = reader.Read<uint64_t>();
  const auto memory = reader.Read<uint64_t>();
  const auto salt = reader.ReadArray<16>();
  if (reader.failed() || reader.remaining() != 0 || AsText(*magic) != kMagic ||
      *algorithm != kArgon2id) {
    return Error(absl::StatusCode::kDataLoss, reasons::kKeyInvalid,
                 "the parameters of the passphrase are damaged; restore their file from a backup");
  }
  const PassphraseParameters parameters{.passes = *passes, .memory_bytes = *memory, .salt = *salt};
  if (!WithinLimits(parameters)) {
    return Error(absl::StatusCode::kDataLoss, reasons::kKeyInvalid,
                 "the parameters of the passphrase ask for {} passes over {} bytes, outside {} to "
                 "{} passes and {} to {} bytes; restore their file from a backup",
                 *passes, *memory, limits::kMinPassphrasePasses, limits::kMaxPassphrasePasses,
                 limits::kMinPassphraseMemoryBytes, limits::kMaxPassphraseMemoryBytes);
  }
  return parameters;
}

absl::StatusOr<SealKey> SealKeyFromPassphrase(std::string_view passphrase,
                                              const PassphraseParameters& parameters) {
  if (passphrase.size() < limits::kMinPassphraseBytes ||
      passphrase.size() > limits::kMaxPassphraseBytes) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
                 "the passphrase has {} bytes; choose one of {} to {} bytes", passphrase.size(),
                 limits::kMinPassphraseBytes, limits::kMaxPassphraseBytes);
  }
  RUVD_CHECK(WithinLimits(parameters));
  InitSodium();
  std::array<uint8_t, kSealKeyBytes> master{};
  if (crypto_pwhash(master.data(), master.size(), passphrase.data(), passphrase.size(),
                    parameters.salt.data(), parameters.passes, parameters.memory_bytes,
                    crypto_pwhash_ALG_ARGON2ID13) != 0) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kKeyInvalid,
                 "there is not enough memory to derive the seal key from the passphrase, which "
                 "needs {} bytes for about a second; free memory and start again",
                 parameters.memory_bytes);
  }
  absl::StatusOr<SealKey> key = SealKey::FromBytes(master, parameters.Encode());
  SecureWipe(master);
  return key;
}

}  // namespace ruvd::privacy
