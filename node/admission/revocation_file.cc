// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#include "node/admission/revocation_file.h"

#include <filesystem>
#include <system_error>

#include "base/bytes.h"
#include "base/file.h"
#include "base/status.h"
#include "node/limits.h"

namespace ruvd::admission {

RevocationFile::RevocationFile(const std::string& data_dir)
    : path_(std::filesystem::path(data_dir) / "revocations") {}

absl::StatusOr<privacy::RevocationList> RevocationFile::Read(
    const privacy::PublicKey& issuer) const {
  std::error_code error;
  if (!std::filesystem::exists(path_, error) && !error) {
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

absl::StatusOr<privacy::RevocationList> RevocationFile::Add(const privacy::NodeId& node,
                                                            int64_t now_ms,
                                                            const privacy::SigningKey& issuer) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(privacy::RevocationList present, Read(issuer.public_key()));
  if (present.Revokes(node)) {
    return present;
  }
  ASSIGN_OR_RETURN(privacy::RevocationList next,
                   privacy::RevokeNodes(present, {node}, now_ms, issuer));
  RETURN_IF_ERROR(WriteFileAtomically(path_, next.Encode()));
  return next;
}

absl::StatusOr<privacy::RevocationList> RevocationFile::Refresh(int64_t age_ms, int64_t now_ms,
                                                                const privacy::SigningKey& issuer) {
  const MutexLock lock(mutex_);
  ASSIGN_OR_RETURN(privacy::RevocationList present, Read(issuer.public_key()));
  if (present.number == 0 || now_ms - present.issued_ms <= age_ms) {
    return present;
  }
  ASSIGN_OR_RETURN(privacy::RevocationList next, privacy::RevokeNodes(present, {}, now_ms, issuer));
  RETURN_IF_ERROR(WriteFileAtomically(path_, next.Encode()));
  return next;
}

}  // namespace ruvd::admission
