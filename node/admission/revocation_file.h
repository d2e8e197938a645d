// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "privacy/identity/revocation_list.h"

namespace ruvd::admission {

// The file DATA_DIR/revocations with the cluster's revocation list, which the authority made or
// peers sent. It lies outside the store, because a revoked node must stay revoked when an older
// store is restored. The list is signed, so the file needs no seal. On the node with the
// authority's key the file DATA_DIR/revoked-nodes remembers all nodes that it ever revoked,
// because the list forgets them when their certificates have ended. Thread-safe; use one object per
// folder.
class RevocationFile {
 public:
  explicit RevocationFile(const std::string& data_dir);

  // Returns the verified list; without a file, an empty list with number 0. Errors are
  // REVOCATION_INVALID, SIGNATURE_INVALID and CERTIFICATE_FOREIGN.
  absl::StatusOr<privacy::RevocationList> Load(const privacy::PublicKey& root) const;
  // Replaces the stored list and fsyncs it, unless the stored list is as new or newer.
  absl::Status Store(const privacy::RevocationList& list, const privacy::PublicKey& root);

  // The rest is for the node with the authority's key.

  // Returns all nodes that this authority ever revoked, and those on the list. Returns the errors
  // of Load, and REVOCATION_INVALID for a damaged file of these nodes.
  absl::StatusOr<privacy::RevokedNodes> EverRevoked(
      const privacy::ClusterAuthority& authority) const;
  // Adds a node to the list, fsyncs it and returns it; the list is unchanged if the node is on it.
  // Returns the errors of EverRevoked, of RevokeNodes and of writing, and LIMIT_EXCEEDED for more
  // than kMaxRevokedEver nodes.
  absl::StatusOr<privacy::RevocationList> Add(const privacy::NodeId& node, int64_t now_ms,
                                              const privacy::ClusterAuthority& authority);
  // Signs list 1 if the file is missing, and signs the list again if it is older than `age_ms` or
  // of a former issuer, so that nodes see that it is current, or if it lacks one of `keys`, which
  // have ended. Returns the list, or the same errors as Add.
  absl::StatusOr<privacy::RevocationList> Refresh(int64_t age_ms, int64_t now_ms,
                                                  const privacy::ClusterAuthority& authority,
                                                  const std::vector<privacy::EndedKeys>& keys = {});

 private:
  absl::StatusOr<privacy::RevocationList> Read(const privacy::PublicKey& root) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns what the file of all revoked nodes has, without the list.
  absl::StatusOr<privacy::RevokedNodes> ReadRemembered() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<privacy::RevokedNodes> ReadEverRevoked(
      const privacy::RevocationList& list, const privacy::ClusterAuthority& authority) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Signs and writes the list after `present`, once what it leaves out is remembered.
  absl::StatusOr<privacy::RevocationList> Follow(const privacy::RevocationList& present,
                                                 const std::vector<privacy::NodeId>& nodes,
                                                 const std::vector<privacy::EndedKeys>& keys,
                                                 int64_t now_ms,
                                                 const privacy::ClusterAuthority& authority)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  const std::string ever_path_;
  mutable Mutex mutex_;
};

}  // namespace ruvd::admission
