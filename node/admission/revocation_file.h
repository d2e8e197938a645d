// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/mutex.h"
#include "privacy/identity/revocation_list.h"
#include "privacy/identity/signing_key.h"

namespace ruvd::admission {

// The file DATA_DIR/revocations with the cluster's revocation list, which the authority made or
// peers sent. It lies outside the store, because a revoked node must stay revoked when an older
// store is restored. The list is signed, so the file needs no seal. Thread-safe; use one object per
// file.
class RevocationFile {
 public:
  explicit RevocationFile(const std::string& data_dir);

  // Returns the verified list; without a file, an empty list with number 0. Errors are
  // REVOCATION_INVALID, SIGNATURE_INVALID and CERTIFICATE_FOREIGN.
  absl::StatusOr<privacy::RevocationList> Load(const privacy::PublicKey& issuer) const;
  // Replaces the stored list and fsyncs it, unless the stored list is as new or newer.
  absl::Status Store(const privacy::RevocationList& list, const privacy::PublicKey& issuer);
  // Adds a node to the list, fsyncs it and returns it; the list is unchanged if the node is on it.
  // Returns the errors of Load, of RevokeNodes and of writing.
  absl::StatusOr<privacy::RevocationList> Add(const privacy::NodeId& node, int64_t now_ms,
                                              const privacy::SigningKey& issuer);
  // Signs the list again if it is older than `age_ms`, so that nodes see that it is current, and
  // returns it. Without a file, the list has number 0. Returns the same errors as Add.
  absl::StatusOr<privacy::RevocationList> Refresh(int64_t age_ms, int64_t now_ms,
                                                  const privacy::SigningKey& issuer);

 private:
  absl::StatusOr<privacy::RevocationList> Read(const privacy::PublicKey& issuer) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  mutable Mutex mutex_;
};

}  // namespace ruvd::admission
