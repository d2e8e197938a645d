// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/revocation_file.h"

#include <filesystem>
#include <system_error>

#include "base/bytes.h"
#include "base/file.h"
#include "base/reasons.h"
#include "base/status.h"
#include "node/limits.h"
#include "privacy/limits.h"

namespace ruvd::admission {
namespace {

// A path that cannot be examined is reported when it is read.
bool IsMissing(const std::string& path) {
  std::error_code error;
  return !std::filesystem::exists(path, error) && !error;
}

}  // namespace

RevocationFile::RevocationFile(const std::string& data_dir)
    : path_(std::filesystem::path(data_dir) / "revocations"),
      ever_path_(std::filesystem::path(data_dir) / "revoked-nodes") {}

absl::StatusOr<privacy::RevocationList> RevocationFile::Read(
    const privacy::PublicKey& issuer) const {
  if (IsMissing(path_)) {
    return privacy::RevocationList();
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path_, limits::kMaxAuthorityFileBytes));
  ASSIGN_OR_RETURN(privacy::RevocationList list, privacy::RevocationList::Parse(AsBytes(bytes)));
  RETURN_IF_ERROR(list.Verify(issuer));
  return list;
}

absl::StatusOr<privacy::RevocationList> RevocationFile::Load(
    const privacy::PublicKey& issuer) const {
  const MutexLock lock(mutex_);
  return Read(issuer);
}

absl::Status RevocationFile::Store(const privacy::RevocationList& list,
                                   const privacy::PublicKey& issuer) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const privacy::RevocationList present, Read(issuer));
  return list.number <= present.number ? absl::OkStatus()
                                       : WriteFileAtomically(path_, list.Encode());
}

absl::StatusOr<privacy::RevokedNodes> RevocationFile::ReadEverRevoked(
    const privacy::RevocationList& list) const {
  privacy::RevokedNodes nodes;
  if (!IsMissing(ever_path_)) {
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(ever_path_, limits::kMaxAuthorityFileBytes));
    ASSIGN_OR_RETURN(nodes, privacy::DecodeRevokedNodes(AsBytes(bytes)));
  }
  for (const privacy::RevokedNode& node : list.nodes) {
    nodes.insert(node.id);
  }
  return nodes;
}

absl::StatusOr<privacy::RevokedNodes> RevocationFile::EverRevoked(
    const privacy::PublicKey& issuer) const {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const privacy::RevocationList present, Read(issuer));
  return ReadEverRevoked(present);
}

absl::StatusOr<privacy::RevocationList> RevocationFile::Follow(
    const privacy::RevocationList& present, const std::vector<privacy::NodeId>& nodes,
    int64_t now_ms, const privacy::SigningKey& issuer) {
  ASSIGN_OR_RETURN(const privacy::RevocationList next,
                   privacy::RevokeNodes(present, nodes, now_ms, issuer));
  ASSIGN_OR_RETURN(privacy::RevokedNodes ever, ReadEverRevoked(present));
  ever.insert(nodes.begin(), nodes.end());
  if (ever.size() > limits::kMaxRevokedEver) {
    return Error(absl::StatusCode::kResourceExhausted, reasons::kLimitExceeded,
                 "this authority has revoked {} nodes, which is the limit; found a new cluster",
                 limits::kMaxRevokedEver);
  }
  if (!ever.empty()) {
    RETURN_IF_ERROR(WriteFileAtomically(ever_path_, privacy::EncodeRevokedNodes(ever), 0600));
  }
  RETURN_IF_ERROR(WriteFileAtomically(path_, next.Encode()));
  return next;
}

absl::StatusOr<privacy::RevocationList> RevocationFile::Add(const privacy::NodeId& node,
                                                            int64_t now_ms,
                                                            const privacy::SigningKey& issuer) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(privacy::RevocationList present, Read(issuer.public_key()));
  return present.Revokes(node) ? present : Follow(present, {node}, now_ms, issuer);
}

absl::StatusOr<privacy::RevocationList> RevocationFile::Refresh(int64_t age_ms, int64_t now_ms,
                                                                const privacy::SigningKey& issuer) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(privacy::RevocationList present, Read(issuer.public_key()));
  const bool fresh = present.number > 0 && now_ms - present.issued_ms <= age_ms;
  return fresh ? present : Follow(present, {}, now_ms, issuer);
}

}  // namespace ruvd::admission
