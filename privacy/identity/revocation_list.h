// SPDX-FileCopyrightText: 2026 The RuvDLLM Authors
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "privacy/identity/admission.h"

namespace ruvd::privacy {

// A node that is revoked. Every certificate that it may hold has ended at `ends_ms`, because its
// issuer signs no other one.
struct RevokedNode {
  NodeId id{};
  int64_t ends_ms = 0;  // Unix time
  bool operator==(const RevokedNode&) const = default;
};

// The nodes that a cluster no longer accepts, signed by its issuer. It names each revoked node as
// long as a certificate of it may be valid. A certificate that ended by `covers_from_ms` is not
// covered: it must be refused whatever the receiver's clock says, because its node may have been
// revoked and left out since. So a revoked node never returns under its id. It is a plain value;
// docs/wire-format.md has the bytes.
struct RevocationList {
  ClusterId cluster{};
  uint64_t number = 0;  // 0 is no list; the founder of a cluster signs number 1
  int64_t issued_ms = 0;
  int64_t covers_from_ms = 0;      // kCertificateClockSkewMillis before issued_ms, or later
  std::vector<RevokedNode> nodes;  // ascending by id, at most kMaxRevokedNodes
  Signature signature{};

  std::string Encode() const;
  // Decodes a list. Fails with REVOCATION_INVALID unless the bytes are exactly one list, and with
  // LIMIT_EXCEEDED.
  static absl::StatusOr<RevocationList> Parse(std::span<const uint8_t> bytes);
  // Returns OK if `issuer` signed the list for its own cluster, otherwise SIGNATURE_INVALID or
  // CERTIFICATE_FOREIGN.
  absl::Status Verify(const PublicKey& issuer) const;
  bool Revokes(const NodeId& node) const;
  // Returns whether a certificate that ends then must be refused because it is not covered.
  bool IsUncovered(const AdmissionCert& certificate) const {
    return certificate.not_after_ms <= covers_from_ms;
  }
  bool operator==(const RevocationList&) const = default;
};

// Returns the list that follows `former` (number 0: the first one), adds `nodes` and leaves out
// those whose certificates have ended. Fails with LIMIT_EXCEEDED for more than kMaxRevokedNodes.
absl::StatusOr<RevocationList> RevokeNodes(const RevocationList& former,
                                           const std::vector<NodeId>& nodes, int64_t now_ms,
                                           const SigningKey& issuer);

// The newest revocation list that a node knows. Not thread-safe.
class Revocations {
 public:
  explicit Revocations(const PublicKey& issuer) : issuer_(issuer) {}

  // Takes a newer list. Fails with REVOCATION_INVALID for a list that is older, leaves out a node
  // whose certificate it covers, or differs from the known list of the same number, and as Verify
  // does. Taking the known list again changes nothing.
  absl::Status Take(const RevocationList& list);

  // Returns OK if the holder of this certificate may be trusted. Otherwise returns NODE_REVOKED, or
  // CERTIFICATE_EXPIRED for a certificate that the list does not cover.
  absl::Status Require(const AdmissionCert& certificate) const;

  // Returns REVOCATION_STALE if no list is known or the known one is older than `max_stale_ms` (0
  // accepts any age, and no list): a cut-off part of the cluster must not link to a node that was
  // revoked elsewhere.
  absl::Status RequireFresh(int64_t now_ms, int64_t max_stale_ms) const;

  const RevocationList& list() const { return list_; }

 private:
  PublicKey issuer_;
  RevocationList list_;
};

// All nodes that a cluster ever revoked, which its issuer remembers: it never certifies them again.
using RevokedNodes = std::set<NodeId>;

std::string EncodeRevokedNodes(const RevokedNodes& nodes);
// Fails with REVOCATION_INVALID unless the bytes are exactly what EncodeRevokedNodes returns.
absl::StatusOr<RevokedNodes> DecodeRevokedNodes(std::span<const uint8_t> bytes);

}  // namespace ruvd::privacy
