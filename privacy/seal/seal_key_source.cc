// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "privacy/seal/seal_key_source.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/limits.h"
#include "base/reasons.h"
#include "base/status.h"
#include "privacy/seal/key_file.h"
#include "privacy/seal/passphrase.h"
#include "privacy/sodium.h"

namespace ruvd::privacy {
namespace {

void Wipe(std::string& text) {
  SecureWipe({reinterpret_cast<uint8_t*>(text.data()), text.size()});
  text.clear();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

absl::StatusOr<SealKey> DeriveKey(std::string_view passphrase, std::string_view parameters,
                                  std::string_view source) {
  const auto decoded = PassphraseParameters::Decode(parameters);
  if (!decoded.ok()) {
    return Annotate(decoded.status(), source);
  }
  return SealKeyFromPassphrase(passphrase, *decoded);
}

absl::StatusOr<SealKey> KeyOfParameters(const std::string& path, std::string_view passphrase) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, limits::kMaxKeyFileBytes));
  return DeriveKey(passphrase, bytes, path);
}

absl::Status WriteRandomKey(const std::string& path) {
  std::array<uint8_t, kSealKeyBytes> master;
  SecureRandomBytes(master);
  const absl::Status status = WriteFileAtomically(path, AsText(master), seal::kKeyFileMode);
  SecureWipe(master);
  return status;
}

}  // namespace

SealKeySource::~SealKeySource() {
  Wipe(options_.passphrase);
  Wipe(next_passphrase_);
}

absl::StatusOr<SealKey> SealKeySource::LoadFrom(const std::string& path,
                                                std::string_view passphrase) const {
  return options_.kind == Kind::kPassphrase ? KeyOfParameters(path, passphrase)
                                            : seal::LoadKeyFile(path);
}

absl::StatusOr<SealKey> SealKeySource::LoadCurrent() const {
  absl::StatusOr<SealKey> key = LoadFrom(options_.path, options_.passphrase);
  if (!key.ok() && options_.kind == Kind::kCredential) {
    return Annotate(key.status(),
                    "the seal key is a credential of the service manager "
                    "(LoadCredential= or LoadCredentialEncrypted= of the unit)");
  }
  return key;
}

absl::Status SealKeySource::CreateIfMissing() const {
  if (Exists(options_.path) || options_.kind == Kind::kCredential) {
    return absl::OkStatus();
  }
  return options_.kind == Kind::kFile
             ? SealKey::LoadOrCreate(options_.path).status()
             : seal::CreateIfMissing(options_.path, PassphraseParameters::Generate().Encode());
}

absl::StatusOr<SealKeys> SealKeySource::Load() {
  RETURN_IF_ERROR(CreateIfMissing());
  ASSIGN_OR_RETURN(std::optional<SealKeys> keys, LoadExisting());
  if (!keys) {
    return Error(absl::StatusCode::kNotFound, reasons::kFileNotFound,
                 "{} was removed while it was read; start again", options_.path);
  }
  return *std::move(keys);
}

absl::StatusOr<std::optional<SealKeys>> SealKeySource::LoadExisting() const {
  if (options_.kind != Kind::kCredential && !Exists(options_.path)) {
    return std::nullopt;
  }
  ASSIGN_OR_RETURN(SealKey current, LoadCurrent());
  SealKeys keys{.current = std::move(current), .next = std::nullopt};
  if (Exists(next_path())) {
    ASSIGN_OR_RETURN(keys.next, LoadFrom(next_path(), options_.passphrase));
  }
  return keys;
}

absl::StatusOr<SealKey> SealKeySource::DeriveWith(std::string_view derivation) const {
  if (options_.kind != Kind::kPassphrase) {
    return Error(absl::StatusCode::kInvalidArgument, reasons::kKeyInvalid,
                 "a seal key of this kind is not made from a passphrase; give its key file");
  }
  return DeriveKey(options_.passphrase, derivation, "the parameters beside it");
}

absl::Status SealKeySource::Adopt(std::string_view derivation) {
  RETURN_IF_ERROR(DeriveWith(derivation).status());
  return seal::CreateIfMissing(options_.path, derivation);
}

absl::StatusOr<SealKey> SealKeySource::StartRotation(std::string_view new_passphrase) {
  if (options_.kind == Kind::kCredential) {
    if (!Exists(next_path())) {
      return Error(absl::StatusCode::kInvalidArgument, reasons::kInvalidArgument,
                   "the seal key is a credential, which only the service manager can replace; "
                   "provide the new one as {} beside the old one and rotate again",
                   next_path());
    }
    return LoadFrom(next_path(), "");
  }
  next_passphrase_ = new_passphrase;
  if (options_.kind == Kind::kPassphrase) {
    // The passphrase is checked before anything is written.
    RETURN_IF_ERROR(
        SealKeyFromPassphrase(new_passphrase, PassphraseParameters::Generate()).status());
    RETURN_IF_ERROR(WriteFileAtomically(next_path(), PassphraseParameters::Generate().Encode(),
                                        seal::kKeyFileMode));
  } else {
    RETURN_IF_ERROR(WriteRandomKey(next_path()));
  }
  return LoadFrom(next_path(), next_passphrase_);
}

absl::Status SealKeySource::FinishRotation() {
  if (options_.kind == Kind::kCredential) {
    return absl::OkStatus();
  }
  if (std::rename(next_path().c_str(), options_.path.c_str()) != 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
                 "cannot rename {} to {}: {}; rename it yourself, because the store needs it",
                 next_path(), options_.path, std::strerror(errno));
  }
  if (!next_passphrase_.empty()) {
    std::swap(options_.passphrase, next_passphrase_);
    Wipe(next_passphrase_);
  }
  return seal::SyncFolderOf(options_.path);
}

absl::Status SealKeySource::CancelRotation() {
  if (options_.kind == Kind::kCredential || !Exists(next_path())) {
    return absl::OkStatus();
  }
  if (std::remove(next_path().c_str()) != 0) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kFileUnwritable,
                 "cannot remove {}: {}; check its permissions", next_path(), std::strerror(errno));
  }
  return seal::SyncFolderOf(options_.path);
}

}  // namespace ruvd::privacy
