// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/revocation_file.h"

#include <filesystem>
#include <system_error>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "node/limits.h"

namespace ruvd {

RevocationFile::RevocationFile(const std::string& data_dir)
    : path_(std::filesystem::path(data_dir) / "revocations") {}

absl::StatusOr<RevocationList> RevocationFile::Read(const PublicKey& issuer) const {
  std::error_code error;
  if (!std::filesystem::exists(path_, error) && !error) {
    return RevocationList();
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(path_, limits::kMaxAuthorityFileBytes));
  ASSIGN_OR_RETURN(RevocationList list, RevocationList::Parse(AsBytes(bytes)));
  RETURN_IF_ERROR(list.Verify(issuer));
  return list;
}

absl::StatusOr<RevocationList> RevocationFile::Load(const PublicKey& issuer) const {
  const MutexLock lock(mutex_);
  return Read(issuer);
}

absl::Status RevocationFile::Keep(const RevocationList& list, const PublicKey& issuer) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(const RevocationList present, Read(issuer));
  return list.number <= present.number ? absl::OkStatus()
                                       : WriteFileAtomically(path_, list.Encode());
}

absl::StatusOr<RevocationList> RevocationFile::Add(const NodeId& node, int64_t now_ms,
                                                   const SigningKey& issuer) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(RevocationList present, Read(issuer.public_key()));
  if (present.Revokes(node)) {
    return present;
  }
  ASSIGN_OR_RETURN(RevocationList next, RevokeNodes(present, {node}, now_ms, issuer));
  RETURN_IF_ERROR(WriteFileAtomically(path_, next.Encode()));
  return next;
}

absl::StatusOr<RevocationList> RevocationFile::Refresh(int64_t age_ms, int64_t now_ms,
                                                       const SigningKey& issuer) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(RevocationList present, Read(issuer.public_key()));
  if (present.number == 0 || now_ms - present.issued_ms <= age_ms) {
    return present;
  }
  ASSIGN_OR_RETURN(RevocationList next, RevokeNodes(present, {}, now_ms, issuer));
  RETURN_IF_ERROR(WriteFileAtomically(path_, next.Encode()));
  return next;
}

}  // namespace ruvd
