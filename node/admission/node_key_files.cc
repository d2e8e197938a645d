// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/node_key_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/bytes.h"
#include "base/file.h"
#include "base/folder_lock.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/admission/revocation_file.h"
#include "privacy/identity/signing_key.h"
#include "privacy/limits.h"
#include "privacy/reasons.h"

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

absl::Status Mixed(const KeyFiles& files) {
  return Error(absl::StatusCode::kFailedPrecondition, reasons::kKeyInvalid,
               "{} does not belong to the other key files beside it; restore node.key, "
               "node.rotations and node.cert from one backup and remove {} and {}, or revoke the "
               "node and join with an empty data folder",
               files.next_certificate, files.next_certificate, files.next_key);
}

// Returns the node's keys with the one of `certificate` as the last. The rotation to it is signed
// by both, unless that was done before a crash.
absl::StatusOr<privacy::NodeKeys> KeysThrough(const KeyFiles& files, const SigningKey& next,
                                              const Clock& clock) {
  const auto bytes = ReadFile(NodeKey::RotationsPathOf(files.key),
                              limits::kMaxKeyRotations * privacy::KeyRotation::kBytes);
  if (bytes.ok() && !bytes->empty()) {
    if (auto keys = privacy::NodeKeys::Through(AsBytes(*bytes), next.public_key()); keys.ok()) {
      return keys;
    }
  }
  RETURN_IF_ERROR(SigningKey::Load(files.key, KeyUse::kNode).status());  // it must be there
  ASSIGN_OR_RETURN(const NodeKey key, NodeKey::LoadOrCreate(files.key));
  privacy::NodeKeys keys = key.keys();
  RETURN_IF_ERROR(keys.Rotate(key.RotateTo(next, clock.WallMillis())));
  return keys;
}

// Puts the next key in place, from the file of it.
absl::Status InstallKey(const KeyFiles& files, const privacy::AdmissionCert& certificate,
                        const Clock& clock) {
  ASSIGN_OR_RETURN(const SigningKey next, SigningKey::Load(files.next_key, KeyUse::kNode));
  if (certificate.node_key != next.public_key()) {
    return Mixed(files);
  }
  ASSIGN_OR_RETURN(const privacy::NodeKeys keys, KeysThrough(files, next, clock));
  if (keys.node() != certificate.node_id || keys.epoch() != certificate.key_epoch) {
    return Mixed(files);
  }
  RETURN_IF_ERROR(WriteFileAtomically(NodeKey::RotationsPathOf(files.key), keys.EncodeRotations()));
  return next.Save(files.key, KeyUse::kNode);
}

// Completes a replacement whose certificate has come. Each step may be repeated after a crash. The
// folder is locked. Returns whether there was one.
absl::StatusOr<bool> CompleteReplacement(const KeyFiles& files, const Clock& clock) {
  if (!Exists(files.next_certificate)) {
    return false;
  }
  ASSIGN_OR_RETURN(const privacy::AdmissionCert certificate,
                   ReadCertificate(files.next_certificate));
  const auto present = SigningKey::Load(files.key, KeyUse::kNode);
  if (!present.ok() || present->public_key() != certificate.node_key) {
    RETURN_IF_ERROR(InstallKey(files, certificate, clock));
  }
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

// Stores what the authority gave for the next key, and puts that key in place.
absl::Status TakeGranted(const std::string& data_dir, const KeyFiles& files,
                         const Membership& granted, const Clock& clock) {
  RETURN_IF_ERROR(
      RevocationFile(data_dir).Store(granted.revocations, granted.certificate.issuer.root));
  RETURN_IF_ERROR(WriteFileAtomically(files.next_certificate, granted.certificate.Encode()));
  return CompleteReplacement(files, clock).status();
}

}  // namespace

absl::StatusOr<NodeKey> LoadNodeKey(const std::string& data_dir, const Clock& clock) {
  const KeyFiles files(data_dir);
  if (Exists(files.next_certificate)) {
    ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(data_dir, /*waits=*/true));
    RETURN_IF_ERROR(CompleteReplacement(files, clock).status());
  }
  return NodeKey::LoadOrCreate(files.key);
}

absl::StatusOr<privacy::AdmissionCert> ReplaceNodeKey(const std::string& data_dir,
                                                      const AskForKey& ask, const Clock& clock,
                                                      bool always_asks) {
  const KeyFiles files(data_dir);
  ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(data_dir, /*waits=*/false));
  ASSIGN_OR_RETURN(const bool completed, CompleteReplacement(files, clock));
  ASSIGN_OR_RETURN(privacy::AdmissionCert present, ReadCertificate(files.certificate));
  if (completed && !always_asks) {
    return present;
  }
  RETURN_IF_ERROR(SigningKey::Load(files.key, KeyUse::kNode).status());  // it must be there
  ASSIGN_OR_RETURN(const NodeKey key, NodeKey::LoadOrCreate(files.key));
  ASSIGN_OR_RETURN(const SigningKey next, NextKey(files, key));
  ASSIGN_OR_RETURN(const Membership granted,
                   ask(present, key, key.RotateTo(next, clock.WallMillis())));
  RETURN_IF_ERROR(TakeGranted(data_dir, files, granted, clock));
  return granted.certificate;
}

absl::StatusOr<Membership> JoinWithNodeKey(const std::string& data_dir, const JoinWithKey& join,
                                           const Clock& clock) {
  const KeyFiles files(data_dir);
  ASSIGN_OR_RETURN(const NodeKey key, LoadNodeKey(data_dir, clock));
  ASSIGN_OR_RETURN(const FolderLock lock, FolderLock::Take(data_dir, /*waits=*/false));
  absl::StatusOr<Membership> joined = join(key);
  if (ReasonOf(joined.status()) == reasons::kKeyEpochRefused && Exists(files.next_key)) {
    ASSIGN_OR_RETURN(SigningKey next, SigningKey::Load(files.next_key, KeyUse::kNode));
    ASSIGN_OR_RETURN(privacy::NodeKeys keys, KeysThrough(files, next, clock));
    ASSIGN_OR_RETURN(const NodeKey next_key, NodeKey::Create(std::move(next), std::move(keys)));
    ASSIGN_OR_RETURN(const Membership granted, join(next_key));
    RETURN_IF_ERROR(TakeGranted(data_dir, files, granted, clock));
    return granted;
  }
  RETURN_IF_ERROR(joined.status());
  // The list is written first, so that the node never runs as a member without it.
  RETURN_IF_ERROR(
      RevocationFile(data_dir).Store(joined->revocations, joined->certificate.issuer.root));
  RETURN_IF_ERROR(WriteFileAtomically(files.certificate, joined->certificate.Encode()));
  return joined;
}

}  // namespace ruvd::admission
