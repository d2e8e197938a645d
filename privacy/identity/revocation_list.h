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

// The complete list of the nodes that a cluster no longer accepts, signed by its issuer. A list
// with a higher number contains all nodes of the lists before it: a revoked node never returns
// under the same id. It is a plain value; docs/wire-format.md has the bytes.
struct RevocationList {
  ClusterId cluster{};
  uint64_t number = 0;  // 0 is the empty list, which needs no signature
  int64_t issued_ms = 0;
  std::vector<NodeId> nodes;  // ascending, at most kMaxRevokedNodes
  Signature signature{};

  std::string Encode() const;
  // Decodes a list. Fails with REVOCATION_INVALID unless the bytes are exactly one list, and with
  // LIMIT_EXCEEDED.
  static absl::StatusOr<RevocationList> Parse(std::span<const uint8_t> bytes);
  // Returns OK if `issuer` signed the list for its own cluster, otherwise SIGNATURE_INVALID or
  // CERTIFICATE_FOREIGN.
  absl::Status Verify(const PublicKey& issuer) const;
  bool Revokes(const NodeId& node) const;
  bool operator==(const RevocationList&) const = default;
};

// Returns the list that follows `former` and adds `nodes`. Fails with LIMIT_EXCEEDED.
absl::StatusOr<RevocationList> RevokeNodes(const RevocationList& former, std::vector<NodeId> nodes,
                                           int64_t now_ms, const SigningKey& issuer);

// The newest revocation list that a node knows. Not thread-safe.
class Revocations {
 public:
  explicit Revocations(const PublicKey& issuer) : issuer_(issuer) {}

  // Takes a newer list. Fails with REVOCATION_INVALID for a list that is older, leaves out a
  // revoked node, or differs from the known list of the same number, and as Verify does. Taking the
  // known list again changes nothing.
  absl::Status Take(const RevocationList& list);

  // Returns OK if the node may be trusted at `now_ms`. Otherwise returns NODE_REVOKED, or
  // REVOCATION_STALE if the known list is older than `max_stale_ms` (0 accepts any age): a cut-off
  // part of the cluster must not link to a node that was revoked elsewhere.
  absl::Status Require(const NodeId& node, int64_t now_ms, int64_t max_stale_ms) const;

  // Checks only the age of the list, as Require does.
  absl::Status RequireFresh(int64_t now_ms, int64_t max_stale_ms) const;

  const RevocationList& list() const { return list_; }

 private:
  PublicKey issuer_;
  RevocationList list_;
};

}  // namespace ruvd::privacy
