// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/admission.h"

namespace ruvd::privacy {

// The nodes that a cluster no longer takes, whole and signed by its issuer. A list of a higher
// number holds all of the lower ones: nobody who was revoked comes back under the same id. A plain
// value; docs/wire-format.md has the bytes.
struct RevocationList {
  ClusterId cluster{};
  uint64_t number = 0;  // 0: the empty list that needs no signature
  int64_t issued_ms = 0;
  std::vector<NodeId> nodes;  // ascending, at most kMaxRevokedNodes
  Signature signature{};

  std::string Encode() const;
  // REVOCATION_INVALID unless the bytes are exactly one list; LIMIT_EXCEEDED.
  static absl::StatusOr<RevocationList> Parse(std::span<const uint8_t> bytes);
  // SIGNATURE_INVALID, CERTIFICATE_FOREIGN unless `issuer` signed it for its cluster.
  absl::Status Verify(const PublicKey& issuer) const;
  bool Revokes(const NodeId& node) const;
  bool operator==(const RevocationList&) const = default;
};

// The list after `former` with `nodes` added. LIMIT_EXCEEDED.
absl::StatusOr<RevocationList> RevokeNodes(const RevocationList& former, std::vector<NodeId> nodes,
                                           int64_t now_ms, const SigningKey& issuer);

// What a node knows to be revoked. Not thread-safe.
class Revocations {
 public:
  explicit Revocations(const PublicKey& issuer) : issuer_(issuer) {}

  // Takes a newer list. REVOCATION_INVALID for one that is older, leaves out somebody, or differs
  // from one of the same number; errors of Verify. The same list again changes nothing.
  absl::Status Take(const RevocationList& list);

  // PERMISSION of a node at `now_ms`: NODE_REVOKED, or REVOCATION_STALE where the newest list is
  // older than `max_stale_ms` (0: however old), so that an island does not link to who was revoked
  // meanwhile.
  absl::Status Require(const NodeId& node, int64_t now_ms, int64_t max_stale_ms) const;

  // REVOCATION_STALE as above, whoever is asked for.
  absl::Status RequireFresh(int64_t now_ms, int64_t max_stale_ms) const;

  const RevocationList& list() const { return list_; }

 private:
  PublicKey issuer_;
  RevocationList list_;
};

}  // namespace ruvd::privacy
