// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/identity/signing_key.h"

#include <sodium.h>
#include <sys/stat.h>

#include <cstring>

#include "base/bytes.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {
namespace {

constexpr std::string_view kFileMagic("RUVDLLM-KEY-v1\0", 15);
constexpr size_t kFileBytes = 15 + 1 + sizeof(KeySeed) + sizeof(Digest);

absl::Status CheckMode(const std::string& path) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) != 0) {
    return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                 "key file {} does not exist; check the path", path);
  }
  if ((info.st_mode & 077) != 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kKeyFileMode,
                 "key file {} can be accessed by other users (mode {:o}); run chmod 600 {}", path,
                 info.st_mode & 0777, path);
  }
  return absl::OkStatus();
}

absl::Status DamagedKey(const std::string& path, std::string_view what) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kKeyInvalid,
               "key file {} {}; restore it from a backup, or remove it to make a new identity",
               path, what);
}

}  // namespace

struct SigningKey::Secret {
  std::array<uint8_t, crypto_sign_SECRETKEYBYTES> bytes{};
};

void SigningKey::WipeSecret::operator()(Secret* secret) const {
  SecureWipe(secret->bytes);
  delete secret;
}

absl::Status CheckPublicKey(const PublicKey& key) {
  InitSodium();
  if (crypto_core_ed25519_is_valid_point(key.data()) != 1) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
                 "{} is not a usable Ed25519 key (not canonical, or not of prime order); "
                 "generate a new key",
                 ToHex(key));
  }
  return absl::OkStatus();
}

bool VerifySignature(const PublicKey& key, std::span<const uint8_t> message,
                     const Signature& signature) {
  InitSodium();
  return crypto_sign_verify_detached(signature.data(), message.data(), message.size(),
                                     key.data()) == 0;
}

SigningKey SigningKey::Generate() {
  KeySeed seed;
  SecureRandomBytes(seed);
  SigningKey key = FromSeed(seed);
  SecureWipe(seed);
  return key;
}

SigningKey SigningKey::FromSeed(const KeySeed& seed) {
  InitSodium();
  SigningKey key;
  key.secret_.reset(new Secret);
  RUVD_CHECK(crypto_sign_seed_keypair(key.public_key_.data(), key.secret_->bytes.data(),
                                      seed.data()) == 0);
  return key;
}

Signature SigningKey::Sign(std::span<const uint8_t> message) const {
  Signature signature{};
  RUVD_CHECK(secret_ != nullptr);
  RUVD_CHECK(crypto_sign_detached(signature.data(), nullptr, message.data(), message.size(),
                                  secret_->bytes.data()) == 0);
  return signature;
}

std::string SigningKey::EncodeFile(KeyUse use) const {
  KeySeed seed;
  std::memcpy(seed.data(), secret_->bytes.data(), seed.size());
  ByteWriter writer;
  writer.WriteText(kFileMagic).Write(static_cast<uint8_t>(use)).WriteBytes(seed);
  const Digest checksum = Sha256(writer.str());
  SecureWipe(seed);
  return writer.WriteBytes(checksum).Take();
}

absl::StatusOr<SigningKey> SigningKey::Load(const std::string& path, KeyUse use) {
  RETURN_IF_ERROR(CheckMode(path));
  ASSIGN_OR_RETURN(std::string contents, ReadFile(path, limits::kMaxKeyFileBytes));
  ByteReader reader(AsBytes(contents));
  const auto magic = reader.ReadBytes(kFileMagic.size());
  const auto stored_use = reader.Read<uint8_t>();
  auto seed = reader.ReadArray<sizeof(KeySeed)>();
  const auto checksum = reader.ReadArray<sizeof(Digest)>();
  if (reader.failed() || contents.size() != kFileBytes || AsText(*magic) != kFileMagic ||
      *checksum != Sha256(std::string_view(contents).substr(0, kFileBytes - sizeof(Digest)))) {
    return DamagedKey(path, "is damaged");
  }
  if (*stored_use != static_cast<uint8_t>(use)) {
    return DamagedKey(path, "holds a key for another use");
  }
  SigningKey key = FromSeed(*seed);
  SecureWipe(*seed);
  SecureWipe({reinterpret_cast<uint8_t*>(contents.data()), contents.size()});
  return key;
}

absl::StatusOr<SigningKey> SigningKey::LoadOrCreate(const std::string& path, KeyUse use) {
  struct stat info = {};
  if (::stat(path.c_str(), &info) == 0 || errno != ENOENT) {
    return Load(path, use);
  }
  SigningKey key = Generate();
  RETURN_IF_ERROR(key.Save(path, use));
  return key;
}

absl::Status SigningKey::Save(const std::string& path, KeyUse use) const {
  std::string contents = EncodeFile(use);
  const absl::Status written = WriteFileAtomically(path, contents, 0600);
  SecureWipe({reinterpret_cast<uint8_t*>(contents.data()), contents.size()});
  return written;
}

}  // namespace ruvd::privacy
