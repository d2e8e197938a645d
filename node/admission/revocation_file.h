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

// The cluster's revocation list of a node, DATA_DIR/revocations: what its authority made, or what
// it learned from peers. Thread-safe; one object for one file.
class RevocationFile {
 public:
  explicit RevocationFile(const std::string& data_dir);

  // The list, verified; number 0 without a file. REVOCATION_INVALID, SIGNATURE_INVALID,
  // CERTIFICATE_FOREIGN.
  absl::StatusOr<privacy::RevocationList> Load(const privacy::PublicKey& issuer) const;
  // Replaces the list durably, unless it is as new or newer.
  absl::Status Keep(const privacy::RevocationList& list, const privacy::PublicKey& issuer);
  // Puts a node on it durably; the same list again if it is there already. Errors of Load,
  // RevokeNodes and of writing.
  absl::StatusOr<privacy::RevocationList> Add(const privacy::NodeId& node, int64_t now_ms,
                                              const privacy::SigningKey& issuer);
  // Signs the list anew where it is older than `age_ms`, so that nodes see that it is the newest.
  // The list as it is then; number 0 where there never was one. Errors as of Add.
  absl::StatusOr<privacy::RevocationList> Refresh(int64_t age_ms, int64_t now_ms,
                                                  const privacy::SigningKey& issuer);

 private:
  absl::StatusOr<privacy::RevocationList> Read(const privacy::PublicKey& issuer) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  mutable Mutex mutex_;
};

}  // namespace ruvd::admission
