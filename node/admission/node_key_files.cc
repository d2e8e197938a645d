// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/node_key_files.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/revocation_file.h"
#include "privacy/identity/signing_key.h"
#include "privacy/limits.h"

namespace ruvd::admission {
namespace {

using privacy::KeyUse;
using privacy::NodeKey;
using privacy::SigningKey;

// The paths of the files that change together.
struct KeyFiles {
  explicit KeyFiles(const std::string& data_dir)
      : key(std::filesystem::path(data_dir) / kNodeKeyFile),
        next_key(key + ".next"),
        certificate(std::filesystem::path(data_dir) / kNodeCertificateFile),
        next_certificate(certificate + ".next") {}
  std::string key;
  std::string next_key;
  std::string certificate;
  std::string next_certificate;
};

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) || error;  // an error shows when it is read
}

absl::Status Remove(const std::string& path) {
  std::error_code error;
  std::filesystem::remove(path, error);
  return error ? FileWriteError(path, error.value()) : absl::OkStatus();
}

absl::StatusOr<privacy::AdmissionCert> ReadCertificate(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path, privacy::AdmissionCert::kBytes));
  auto certificate = privacy::AdmissionCert::Parse(AsBytes(bytes));
  return certificate.ok() ? std::move(certificate) : Annotate(certificate.status(), path);
}

// Writes the rotation to `next` beside the former key, unless that was done before the crash.
absl::Status WriteRotations(const KeyFiles& files, const SigningKey& next, const Clock& clock) {
  const std::string path = NodeKey::RotationsPathOf(files.key);
  if (const auto bytes = ReadFile(path, limits::kMaxKeyRotations * privacy::KeyRotation::kBytes);
      bytes.ok() && privacy::NodeKeys::Through(AsBytes(*bytes), next.public_key()).ok()) {
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const NodeKey key, NodeKey::LoadOrCreate(files.key));
  privacy::NodeKeys keys = key.keys();
  RETURN_IF_ERROR(keys.Rotate(key.RotateTo(next, clock.WallMillis())));
  return WriteFileAtomically(path, keys.EncodeRotations());
}

// Completes a replacement whose certificate has come. Each step may be repeated after a crash.
// Returns whether there was one.
absl::StatusOr<bool> CompleteReplacement(const KeyFiles& files, const Clock& clock) {
  if (!Exists(files.next_certificate)) {
    return false;
  }
  ASSIGN_OR_RETURN(const privacy::AdmissionCert certificate,
                   ReadCertificate(files.next_certificate));
  ASSIGN_OR_RETURN(const SigningKey next, SigningKey::Load(files.next_key, KeyUse::kNode));
  if (certificate.node_key != next.public_key()) {
    return Error(absl::StatusCode::kFailedPrecondition, reasons::kKeyInvalid,
                 "{} is not for the key {}; remove both files to keep the node's former key, and "
                 "run `ruvd cert rotate` again",
                 files.next_certificate, files.next_key);
  }
  RETURN_IF_ERROR(WriteRotations(files, next, clock));
  RETURN_IF_ERROR(next.Save(files.key, KeyUse::kNode));
  RETURN_IF_ERROR(WriteFileAtomically(files.certificate, certificate.Encode()));
  RETURN_IF_ERROR(Remove(files.next_certificate));
  RETURN_IF_ERROR(Remove(files.next_key));
  return true;
}

// Returns the key that a replacement which was cut off has begun with, or a new one.
absl::StatusOr<SigningKey> NextKey(const KeyFiles& files, const NodeKey& key) {
  ASSIGN_OR_RETURN(SigningKey next, SigningKey::LoadOrCreate(files.next_key, KeyUse::kNode));
  if (next.public_key() != key.public_key()) {
    return next;
  }
  RETURN_IF_ERROR(Remove(files.next_key));  // the last replacement was complete but for this step
  return SigningKey::LoadOrCreate(files.next_key, KeyUse::kNode);
}

}  // namespace

absl::StatusOr<NodeKey> LoadNodeKey(const std::string& data_dir, const Clock& clock) {
  const KeyFiles files(data_dir);
  RETURN_IF_ERROR(CompleteReplacement(files, clock).status());
  return NodeKey::LoadOrCreate(files.key);
}

absl::StatusOr<privacy::AdmissionCert> ReplaceNodeKey(const std::string& data_dir,
                                                      const AskForKey& ask, const Clock& clock) {
  const KeyFiles files(data_dir);
  ASSIGN_OR_RETURN(const bool completed, CompleteReplacement(files, clock));
  ASSIGN_OR_RETURN(privacy::AdmissionCert present, ReadCertificate(files.certificate));
  if (completed) {
    return present;
  }
  RETURN_IF_ERROR(SigningKey::Load(files.key, KeyUse::kNode).status());  // it must be there
  ASSIGN_OR_RETURN(const NodeKey key, NodeKey::LoadOrCreate(files.key));
  ASSIGN_OR_RETURN(const SigningKey next, NextKey(files, key));
  ASSIGN_OR_RETURN(const Membership granted,
                   ask(present, key, key.RotateTo(next, clock.WallMillis())));
  RETURN_IF_ERROR(
      RevocationFile(data_dir).Store(granted.revocations, granted.certificate.issuer.root));
  RETURN_IF_ERROR(WriteFileAtomically(files.next_certificate, granted.certificate.Encode()));
  RETURN_IF_ERROR(CompleteReplacement(files, clock).status());
  return granted.certificate;
}

}  // namespace ruvd::admission
