// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/revocation_file.h"

#include <algorithm>
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

absl::StatusOr<privacy::RevocationList> RevocationFile::Read(const privacy::PublicKey& root) const {
  if (IsMissing(path_)) {
    return privacy::RevocationList();
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path_, limits::kMaxAuthorityFileBytes));
  ASSIGN_OR_RETURN(privacy::RevocationList list, privacy::RevocationList::Parse(AsBytes(bytes)));
  RETURN_IF_ERROR(list.Verify(root));
  return list;
}

absl::StatusOr<privacy::RevocationList> RevocationFile::Load(const privacy::PublicKey& root) const {
  const MutexLock lock(mutex_);
  return Read(root);
}

absl::Status RevocationFile::Store(const privacy::RevocationList& list,
                                   const privacy::PublicKey& root) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const privacy::RevocationList present, Read(root));
  return list.number <= present.number ? absl::OkStatus()
                                       : WriteFileAtomically(path_, list.Encode());
}

absl::StatusOr<privacy::RevokedNodes> RevocationFile::ReadRemembered() const {
  if (IsMissing(ever_path_)) {
    return privacy::RevokedNodes();
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(ever_path_, limits::kMaxAuthorityFileBytes));
  return privacy::DecodeRevokedNodes(AsBytes(bytes));
}

absl::StatusOr<privacy::RevokedNodes> RevocationFile::ReadEverRevoked(
    const privacy::RevocationList& list, const privacy::ClusterAuthority& authority) const {
  ASSIGN_OR_RETURN(privacy::RevokedNodes nodes, ReadRemembered());
  // An issuer that was ended may have been a thief. What it signed before is in the file.
  if (list.issuer.number >= authority.issuer().least) {
    for (const privacy::RevokedNode& node : list.nodes) {
      if (node.least_epoch == privacy::kEveryEpoch) {
        nodes.insert(node.id);
      }
    }
  }
  return nodes;
}

absl::StatusOr<privacy::RevokedNodes> RevocationFile::EverRevoked(
    const privacy::ClusterAuthority& authority) const {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const privacy::RevocationList present, Read(authority.public_key()));
  return ReadEverRevoked(present, authority);
}

absl::StatusOr<privacy::RevocationList> RevocationFile::Follow(
    const privacy::RevocationList& present, const std::vector<privacy::NodeId>& nodes,
    const std::vector<privacy::EndedKeys>& keys, int64_t now_ms,
    const privacy::ClusterAuthority& authority) {
  ASSIGN_OR_RETURN(const privacy::RevocationList next,
                   privacy::RevokeNodes(present, nodes, now_ms, authority, keys));
  // Only what this authority revokes itself is remembered for ever: a list that came from others
  // may be of a thief of its key.
  ASSIGN_OR_RETURN(privacy::RevokedNodes ever, ReadRemembered());
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

absl::StatusOr<privacy::RevocationList> RevocationFile::Add(
    const privacy::NodeId& node, int64_t now_ms, const privacy::ClusterAuthority& authority) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(privacy::RevocationList present, Read(authority.public_key()));
  return present.Revokes(node) && present.issuer == authority.issuer()
             ? present
             : Follow(present, {node}, {}, now_ms, authority);
}

absl::StatusOr<privacy::RevocationList> RevocationFile::Refresh(
    int64_t age_ms, int64_t now_ms, const privacy::ClusterAuthority& authority,
    const std::vector<privacy::EndedKeys>& keys) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(privacy::RevocationList present, Read(authority.public_key()));
  const bool fresh = present.number > 0 && now_ms - present.issued_ms <= age_ms &&
                     present.issuer == authority.issuer() &&
                     std::ranges::all_of(keys, [&present](const privacy::EndedKeys& ended) {
                       return present.LeastEpoch(ended.id) >= ended.least_epoch;
                     });
  return fresh ? present : Follow(present, {}, keys, now_ms, authority);
}

}  // namespace ruvd::admission
